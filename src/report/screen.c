/* screen.c: lines, names and percentages that all screens print.
 *
 * Lines are cut to the width of the screen in whole characters; names of kernels and source lines are made readable.
 * Tests: tests/unit/report.c */
#include "report/internal.h"

/* A line cut to the width of the screen, at a word where possible, in whole characters. */
void report_line(struct str *o, const char *fmt, ...) {
    char b[600];
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprintf(b, sizeof b, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    size_t len = RG_MIN((size_t)n, sizeof b - 1);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)b[i] < ' ') b[i] = ' ';
    if (len > COLS) {
        len = COLS - 2;
        while (len && ((unsigned char)b[len] & 0xc0) == 0x80) len--;
        memcpy(b + len, "..", 2);
        len += 2;
    }
    while (len && b[len - 1] == ' ') len--;
    str_addn(o, b, len);
    str_addc(o, '\n');
}

/* Long text over several lines with a hanging indent; at most `most` lines. */
void report_wrapped(struct str *o, const char *head, const char *text, int indent, int most) {
    char b[COLS + 8];
    int used = snprintf(b, sizeof b, "%s", head);
    used = RG_MIN(used, COLS);
    for (int k = 0; *text && k < most; k++) {
        size_t room = (size_t)(COLS - used), n = strlen(text);
        if (n > room) {
            n = room;
            if (k + 1 < most) {
                size_t w = n;
                while (w > room / 2 && text[w] != ' ') w--;
                if (text[w] == ' ') n = w;
            } else if (n > 2) {
                n -= 2;
            }
            while (n && ((unsigned char)text[n] & 0xc0) == 0x80) n--;
        }
        bool cut = k + 1 == most && text[n];
        report_line(o, "%.*s%.*s%s", used, b, (int)n, text, cut ? ".." : "");
        text += n;
        while (*text == ' ') text++;
        used = indent;
        memset(b, ' ', (size_t)indent);
    }
}

/* What the advice rests on beyond its signal; in full for the first, which is what one does. */
void report_evidence(struct str *o, const struct cause *c, bool first) {
    if (c->before) report_wrapped(o, "       before it: ", c->before, 18, 2);
    if (!first) return;
    if (c->bound && c->lost_ns) report_wrapped(o, "       at most: ", c->bound, 16, 2);
    if (c->confirm) report_wrapped(o, "       confirm: ", c->confirm, 16, 2);
}

void report_short_name(const char *s, char *out, size_t cap) {
    size_t n = 0;
    int depth = 0;
    if (!strncmp(s, "void ", 5)) s += 5;
    if (!strncmp(s, "_ZN", 3)) { /* mangled: the first long word, else the head */
        for (const char *p = s + 3; *p; p++) {
            size_t k = 0;
            while (*p >= '0' && *p <= '9' && k < 1000) k = k * 10 + (size_t)(*p++ - '0');
            if (!*p) break;
            bool whole = k && strnlen(p, k) == k;
            if (k < 12 || !whole || *p < 'A' || *p > 'Z') {
                if (whole) p += k - 1;
                continue;
            }
            snprintf(out, cap, "%.*s", (int)RG_MIN(cap - 1, k), p);
            return;
        }
        snprintf(out, cap, "%.*s", (int)RG_MIN(cap - 1, (size_t)48), s);
        return;
    }
    const char *functor = NULL;
    for (const char *p = s; *p && n + 1 < cap; p++) {
        if (*p == '(' && !strncmp(p, "(anonymous namespace)::", 23)) {
            p += 22;
            continue;
        }
        if (*p == '<') {
            depth++;
            continue;
        }
        if (*p == '>') {
            depth -= depth > 0;
            continue;
        }
        if (*p == '(' && !depth) break;
        if (depth) continue;
        if (p[0] == ':' && p[1] == ':') {
            n = 0;
            p++;
            continue;
        }
        out[n++] = *p;
    }
    /* What an elementwise kernel computes stands in its functor. */
    if ((functor = strstr(s, "Functor_")) && n + 2 < cap) {
        functor += 8;
    } else if ((functor = strstr(s, "binary_internal::")) && n + 2 < cap) {
        functor += 17;
    } else {
        functor = NULL;
    }
    if (functor) {
        out[n++] = ':';
        while ((*functor >= 'a' && *functor <= 'z') || (*functor >= 'A' && *functor <= 'Z') ||
               *functor == '_') {
            if (n + 1 >= cap) break;
            out[n++] = *functor++;
        }
    }
    out[n] = 0;
    /* "Kernel<name>" and "Kernel2<name>" of CUTLASS: the argument is the name. */
    if (n && !strncmp(out, "Kernel", 6) && n <= 7 && strchr(s, '<')) {
        const char *a = strchr(s, '<') + 1;
        n = strcspn(a, "<>,( ");
        snprintf(out, cap, "%.*s", (int)RG_MIN(n, cap - 1), a);
    }
    if (!n) snprintf(out, cap, "%s", s);
}

/* "train.py(62): step" of PyTorch and "train.py:62 step" of JAX, both as "train.py:62 in step"; an operator as
 * it is. What is too long loses its front: the file's name, line and function stand at the end. */
void report_source_line(const char *w, char *out, size_t cap) {
    size_t n = strlen(w), file = 0, a = 0, b = 0, fn = 0;
    for (size_t i = 0; i < n && !fn; i++) {
        if (w[i] != '(' && w[i] != ':') continue;
        size_t k = i + 1 + strspn(w + i + 1, "0123456789");
        if (k == i + 1) continue;
        const char *after = w[i] == '(' ? "): " : " ";
        if (!strncmp(w + k, after, strlen(after)) && w[k + strlen(after)])
            file = i, a = i + 1, b = k, fn = k + strlen(after);
    }
    char full[600];
    if (fn)
        snprintf(full, sizeof full, "%.*s:%.*s in %.60s", (int)RG_MIN(file, (size_t)400), w,
                 (int)RG_MIN(b - a, (size_t)10), w + a, w + fn);
    else
        snprintf(full, sizeof full, "%s", w);
    size_t len = strlen(full);
    if (len < cap || !fn) {
        snprintf(out, cap, "%s", full);
        return;
    }
    const char *tail = full + (len - (cap - 3));
    while (((unsigned char)*tail & 0xc0) == 0x80) tail++; /* whole characters */
    snprintf(out, cap, "..%s", tail);
}

/* Tenths of a percent whose total is 1000: floor each, give the rest to the largest remainders. */
void report_shares(const int64_t *v, int n, int64_t whole, int *out) {
    int sum = 0;
    double rest[BUDGET_KEYS];
    for (int i = 0; i < n; i++) {
        double x = whole ? 1000.0 * (double)v[i] / (double)whole : 0;
        out[i] = (int)x;
        rest[i] = x - out[i];
        sum += out[i];
    }
    for (; sum < 1000 && whole; sum++) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (rest[i] > rest[best]) best = i;
        out[best]++;
        rest[best] = -1;
    }
}

/* Long names of kernels differ in their last letters as often as in their first. */
void report_cut_middle(const char *s, char *out, size_t cap) {
    size_t n = strlen(s), tail = 10;
    if (n < cap)
        memcpy(out, s, n + 1);
    else if (n > 60) /* a sentence, not a name */
        snprintf(out, cap, "%.*s..", (int)(cap - 3), s);
    else
        snprintf(out, cap, "%.*s..%s", (int)(cap - 3 - tail), s, s + n - tail);
}
