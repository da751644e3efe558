/* protobuf.h: fields of a message in memory, bounds checked; what readers of protobufs share. */
#ifndef RIDGE_ANALYZE_PROTOBUF_H
#define RIDGE_ANALYZE_PROTOBUF_H

#include "analyze/internal.h"

struct pb {
    const uint8_t *p, *end;
};
struct pbf { /* one field */
    uint32_t no, wire;
    uint64_t v;
    struct pb sub;
};

static inline bool varint(struct pb *b, uint64_t *out) {
    uint64_t x = 0;
    for (int s = 0; s < 64 && b->p < b->end; s += 7) {
        uint8_t c = *b->p++;
        x |= (uint64_t)(c & 0x7f) << s;
        if (c < 0x80) return *out = x, true;
    }
    return false;
}
static inline bool next_field(struct pb *b, struct pbf *f) {
    uint64_t tag, n;
    if (b->p >= b->end || !varint(b, &tag)) return false;
    f->no = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    f->v = 0;
    f->sub = (struct pb){b->end, b->end};
    switch (f->wire) {
    case 0: return varint(b, &f->v);
    case 1:
    case 5: {
        size_t k = f->wire == 1 ? 8 : 4;
        if ((size_t)(b->end - b->p) < k) return false;
        memcpy(&f->v, b->p, k);
        b->p += k;
        return true;
    }
    case 2:
        if (!varint(b, &n) || n > (uint64_t)(b->end - b->p)) return false;
        f->sub = (struct pb){b->p, b->p + n};
        b->p += n;
        return true;
    default: return false;
    }
}

/* All of the file, inflated; in the trace's arena. pprof.c */
struct pb read_whole(struct trace *, struct input *);

#endif
