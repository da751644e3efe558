/* ranks.c: a set of ranks on one screen, and as JSON: who waits, for whom, why, and how well collectives are hidden.
 *
 * Tests: tests/unit/ranks.c, tests/cli/diagnose.sh */
#include "report/internal.h"

static double ms(int64_t ns) { return (double)ns / 1e6; }
static double pct(int64_t part, int64_t whole) { return whole ? 100.0 * (double)part / (double)whole : 0; }

static const char *kind_of(const struct rank_set *s) {
    return s->culprit >= 0 && !s->network ? "straggler"
           : s->network                   ? "network"
           : s->why                       ? "imbalance"
                                          : "healthy";
}

static void verdict(struct str *o, const struct rank_set *s) {
    const struct rank_row *c = s->culprit >= 0 ? &s->rows.p[s->culprit] : NULL;
    if (!s->matched)
        report_line(o, "VERDICT  none: no collective that all ranks have; compare their budgets below");
    else if (c && s->network)
        report_line(o, "VERDICT  network: rank %d is %.1f ms (%.1f%%) longer in collectives than all others",
                    c->rank, ms(s->lost_ns), pct(s->lost_ns, s->wall_ns));
    else if (c)
        report_line(o,
                    "VERDICT  straggler: rank %d is last to %u of %u collectives; the others wait %.1f of "
                    "%.1f ms (%.1f%%)",
                    c->rank, c->last, s->matched, ms(s->lost_ns), ms(s->wall_ns),
                    pct(s->lost_ns, s->wall_ns));
    else if (s->why)
        report_line(o, "VERDICT  %s: %.1f of %.1f ms (%.1f%%)", kind_of(s), ms(s->lost_ns), ms(s->wall_ns),
                    pct(s->lost_ns, s->wall_ns));
    else
        report_line(o,
                    "VERDICT  healthy: ranks come together; they wait %.1f%% and transfer %.1f%% of the time",
                    pct(s->wait_ns, s->wall_ns), pct(s->transfer_ns, s->wall_ns));
    if (!s->why) return;
    char at[64] = "", text[400];
    if (s->where && *s->where) report_source_line(s->where, at, sizeof at);
    text_printf(text, sizeof text, "%s%s%s%s", s->why,
                s->more_ns ? arena_printf(o->arena, " (%.1f ms more than the others: %s)", ms(s->more_ns),
                                          budget_text(s->reason))
                           : "",
                *at ? "  at " : "", at);
    report_wrapped(o, "WHY    ", text, 7, 2);
    report_wrapped(o, "    -> ", s->fix, 7, 2);
}

void report_ranks(struct str *o, const struct rank_set *s) {
    report_line(o, "%u ranks, %u collectives that all of them have; clocks aligned by their ends", s->n,
                s->matched);
    verdict(o, s);
    report_line(o, "%6s %10s %10s %10s %12s %8s %8s %12s %8s  %s", "rank", "wall ms", "busy %", "waits ms",
                "transfers ms", "hidden %", "last to", "clock us", "+- us", "file");
    for (uint32_t i = 0; i < s->rows.n && i < 24; i++) {
        const struct rank_row *r = &s->rows.p[i];
        const char *slash = strrchr(r->path, '/');
        char error[24] = "?";
        if (r->error_ns >= 0) text_printf(error, sizeof error, "%.1f", (double)r->error_ns / 1e3);
        report_line(o, "%6d %10.2f %10.1f %10.2f %12.2f %8.1f %8u %12.1f %8s  %s", r->rank, ms(r->wall_ns),
                    pct(r->busy_ns, r->wall_ns), ms(r->wait_ns), ms(r->transfer_ns),
                    pct(r->hidden_ns, r->comm_ns), r->last, (double)r->offset_ns / 1e3, error,
                    slash ? slash + 1 : r->path);
    }
    if (s->rows.n > 24) report_line(o, "  %u more ranks: --json has all", s->rows.n - 24);
    for (uint32_t i = 0; i < s->refused.n && i < 4; i++)
        report_wrapped(o, "CAPTURE  ", s->refused.p[i], 9, 2);
}

static void text_of(struct str *o, const char *key, const char *text) {
    str_printf(o, ",\"%s\":", key);
    report_json_string(o, text ? text : "");
}

void report_ranks_json(struct str *o, const struct rank_set *s) {
    str_printf(o, "{\"ranks\":%u,\"collectives\":%u,\"verdict\":\"%s\",\"rank\":%d", s->n, s->matched,
               kind_of(s), s->culprit >= 0 ? s->rows.p[s->culprit].rank : -1);
    str_printf(o,
               ",\"wall_ns\":%lld,\"lost_ns\":%lld,\"wait_ns\":%lld,\"transfer_ns\":%lld,\"more_ns\":%lld,"
               "\"slow_gpu\":%s",
               (long long)s->wall_ns, (long long)s->lost_ns, (long long)s->wait_ns, (long long)s->transfer_ns,
               (long long)s->more_ns, s->slow_gpu ? "true" : "false");
    text_of(o, "reason", s->culprit >= 0 && !s->network ? budget_key(s->reason) : "");
    text_of(o, "why", s->why);
    text_of(o, "fix", s->fix);
    text_of(o, "where", s->where);
    str_add(o, ",\"rows\":[");
    for (uint32_t i = 0; i < s->rows.n; i++) {
        const struct rank_row *r = &s->rows.p[i];
        str_printf(o,
                   "%s\n{\"rank\":%d,\"wall_ns\":%lld,\"busy_ns\":%lld,\"wait_ns\":%lld,\"transfer_ns\":%lld",
                   i ? "," : "", r->rank, (long long)r->wall_ns, (long long)r->busy_ns, (long long)r->wait_ns,
                   (long long)r->transfer_ns);
        str_printf(
            o,
            ",\"comm_ns\":%lld,\"hidden_ns\":%lld,\"late_ns\":%lld,\"last\":%u,\"clock_offset_ns\":%lld,"
            "\"clock_error_ns\":%lld",
            (long long)r->comm_ns, (long long)r->hidden_ns, (long long)r->late_ns, r->last,
            (long long)r->offset_ns, (long long)r->error_ns);
        text_of(o, "file", r->path);
        str_add(o, ",\"budget\":{");
        for (int k = 0; k < BUDGET_KEYS; k++)
            str_printf(o, "%s\"%s\":%lld", k ? "," : "", budget_key(k), (long long)r->budget[k]);
        str_add(o, "}}");
    }
    str_add(o, "],\"refused\":[");
    for (uint32_t i = 0; i < s->refused.n; i++) {
        if (i) str_addc(o, ',');
        report_json_string(o, s->refused.p[i]);
    }
    str_add(o, "]}\n");
}
