/* input.c: a window over the bytes of a trace, from a file or memory, inflated on the fly.
 *
 * Readers see one growing buffer: they consume from the front and ask for more. The window holds the
 * largest single piece (an event) and never more than INPUT_MAX, so a 50 GB file costs the same memory
 * as a small one. After the valid bytes stand a NUL and quotes: scanners stop there without a bounds
 * check per byte. gzip may have several members; a broken or cut stream ends the data and is told.
 * Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define WINDOW ((size_t)1 << 20)
#define ZWINDOW ((size_t)256 << 10)

static size_t raw_read(struct input *in, uint8_t *p, size_t n) {
    if (in->mem) {
        size_t k = RG_MIN(n, in->mem_n - in->mem_at);
        memcpy(p, in->mem + in->mem_at, k);
        in->mem_at += k;
        in->t->bytes_file += k;
        return k;
    }
    size_t got = 0;
    while (got < n) {
        ssize_t k = read(in->fd, p + got, n - got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) err_throw(in->t->err, RG_EIO, "reading the trace failed: %s", strerror(errno));
        if (k == 0) break;
        got += (size_t)k;
    }
    in->t->bytes_file += got;
    return got;
}

static size_t inflate_read(struct input *in, uint8_t *p, size_t n) {
    z_stream *z = in->z;
    z->next_out = p;
    z->avail_out = (uInt)n;
    while (z->avail_out && !in->bad_gz) {
        if (in->zin_at == in->zin_n) {
            in->zin_n = raw_read(in, in->zin, ZWINDOW);
            in->zin_at = 0;
            if (!in->zin_n) {
                in->bad_gz = true; /* ended inside a member */
                in->t->truncated = true;
                break;
            }
        }
        z->next_in = in->zin + in->zin_at;
        z->avail_in = (uInt)(in->zin_n - in->zin_at);
        int rc = inflate(z, Z_NO_FLUSH);
        in->zin_at = in->zin_n - z->avail_in;
        if (rc == Z_STREAM_END) {
            if (in->zin_at == in->zin_n) {
                in->zin_n = raw_read(in, in->zin, ZWINDOW);
                in->zin_at = 0;
            }
            /* Another member, or the end; anything else after a member is padding. */
            if (in->zin_at == in->zin_n || in->zin[in->zin_at] != 0x1f) break;
            if (inflateReset(z) != Z_OK) break;
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            in->bad_gz = true;
            in->t->truncated = true;
        }
    }
    return n - z->avail_out;
}

static void seal(struct input *in) {
    in->buf[in->len] = 0;
    memset(in->buf + in->len + 1, '"', INPUT_PAD - 1);
}

bool input_more(struct input *in, size_t used) {
    struct err *e = in->t->err;
    if (used) {
        memmove(in->buf, in->buf + used, in->len - used);
        in->len -= used;
        in->offset += used;
    }
    if (in->eof) {
        seal(in);
        return false;
    }
    if (in->len == in->cap) {
        if (in->cap >= INPUT_MAX) return seal(in), false;
        uint8_t *p = mem_realloc(in->buf, in->cap * 2 + INPUT_PAD);
        if (!p) err_throw(e, RG_ENOMEM, "no memory for a piece of %zu bytes of the trace", in->cap);
        in->buf = p;
        in->cap *= 2;
    }
    size_t want = in->cap - in->len;
    size_t got = in->gz ? inflate_read(in, in->buf + in->len, want) : raw_read(in, in->buf + in->len, want);
    in->len += got;
    in->t->bytes_read += got;
    if (got < want) in->eof = true;
    seal(in);
    return got > 0;
}

static void start_inflate(struct input *in) {
    z_stream *z = mem_alloc(sizeof *z);
    in->zin = mem_alloc(ZWINDOW > in->len ? ZWINDOW : in->len);
    if (!z || !in->zin) {
        mem_free(z);
        err_throw(in->t->err, RG_ENOMEM, "no memory to inflate the trace");
    }
    memset(z, 0, sizeof *z);
    if (inflateInit2(z, 15 + 32) != Z_OK) {
        mem_free(z);
        err_throw(in->t->err, RG_ENOMEM, "zlib could not be started");
    }
    in->z = z;
    memcpy(in->zin, in->buf, in->len);
    in->zin_n = in->len;
    in->t->bytes_read -= in->len;
    in->len = 0;
    in->gz = in->t->compressed = true;
    in->eof = false;
}

void input_open(struct input *in, struct trace *t, const char *path, const void *mem, size_t n) {
    *in = (struct input){.t = t, .fd = -1, .mem = mem, .mem_n = n};
    if (path) {
        in->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (in->fd < 0) err_throw(t->err, RG_EIO, "cannot be opened: %s", strerror(errno));
        struct stat st;
        if (!fstat(in->fd, &st) && S_ISDIR(st.st_mode))
            err_throw(t->err, RG_EIO,
                      "it is a directory; expected a trace file. JAX writes them under "
                      "plugins/profile/<time>/");
    }
    in->cap = WINDOW;
    in->buf = mem_alloc(in->cap + INPUT_PAD);
    if (!in->buf) err_throw(t->err, RG_ENOMEM, "no memory for the read window");
    /* A short first read: enough to tell the kind of file, small enough to hand to zlib. */
    in->len = raw_read(in, in->buf, ZWINDOW);
    t->bytes_read = in->len;
    in->eof = in->len < ZWINDOW;
    seal(in);
    if (in->len >= 2 && in->buf[0] == 0x1f && in->buf[1] == 0x8b) {
        start_inflate(in);
        input_more(in, 0);
    }
}

void input_close(struct input *in) {
    if (in->z) inflateEnd(in->z);
    mem_free(in->z);
    mem_free(in->zin);
    mem_free(in->buf);
    if (in->fd >= 0) close(in->fd);
    *in = (struct input){.fd = -1};
}
