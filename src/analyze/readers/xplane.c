/* xplane.c: reads JAX's and XLA's XSpace protobuf (*.xplane.pb).
 *
 * Prefer it to the JSON next to it: it is not capped and holds what the device can do. A plane is read
 * twice, first its tables of names, then its lines. Only "Stream #" rows of a GPU (or "XLA Ops" of a
 * TPU) are device work; the other rows show the same time again. Picoseconds become nanoseconds by
 * cutting both ends, so that neighbours stay neighbours. What an instruction costs is said by the event itself (TPU) or
 * counted from the program in "/host:metadata" (hlo.c); where one instruction launches kernels of several names, the cost
 * goes to the one that takes longest. Tests: tests/unit/analyze.c, tests/unit/analyze_fuzz.c */
#include "analyze/readers/hlo.h"

#include <stdlib.h>

bool is_xplane(const uint8_t *p, size_t n) {
    /* XSpace: field 1 is a plane, whose fields 1 and 2 are its number and name. */
    struct pb b = {p, p + n};
    uint64_t tag, len;
    if (n < 8 || !varint(&b, &tag) || tag != 0x0a || !varint(&b, &len) || len < 2) return false;
    struct pbf f;
    struct pb plane = {b.p, p + n};
    if ((uint64_t)(plane.end - plane.p) > len) plane.end = plane.p + len;
    for (int i = 0; i < 3 && next_field(&plane, &f); i++)
        if (f.no == 2 && f.wire == 2 && f.sub.end > f.sub.p && (*f.sub.p == '/' || *f.sub.p == '#'))
            return true;
    return false;
}

struct meta {
    uint32_t name, display;
    struct pb stats; /* the whole message, for its stats */
};
struct xplane {
    struct trace *t;
    struct hlo *programs;
    struct map events, stats; /* id -> index into metas; id -> name */
    VEC(struct meta) metas;
    int device; /* -1 host, -2 skip */
    uint32_t pid;
    struct map kinds; /* name -> host kind + 1 */
};
struct stats {
    uint64_t corr;
    int64_t flops, bytes, step, total, size, addr;
    uint64_t program;
    struct pb kernel, copy, set, hlo, allocator, proto;
    bool has_step, has_cost, has_total;
};

static uint32_t intern_pb(struct trace *t, struct pb b) {
    return trace_intern(t, b.p, RG_MIN((size_t)(b.end - b.p), (size_t)8192));
}

static void read_map_entry(struct pb entry, uint64_t *key, struct pb *val) {
    struct pbf f;
    *key = 0;
    *val = (struct pb){entry.end, entry.end};
    while (next_field(&entry, &f))
        if (f.no == 1 && f.wire == 0)
            *key = f.v;
        else if (f.no == 2 && f.wire == 2)
            *val = f.sub;
}

static void read_stat(struct xplane *x, struct pb b, struct stats *s) {
    struct pbf f;
    uint64_t id = 0, num = 0, name, ref;
    struct pb str = {0};
    while (next_field(&b, &f)) {
        if (f.no == 1)
            id = f.v;
        else if (f.no == 3 || f.no == 4)
            num = f.v;
        else if (f.no == 2) {
            double d;
            memcpy(&d, &f.v, 8);
            num = d >= 0 && d < 9e18 ? (uint64_t)d : 0;
        } else if (f.no == 5 || f.no == 6)
            str = f.sub;
        else if (f.no == 7 && map_get(&x->stats, f.v, &ref)) {
            const char *r = trace_str(x->t, (uint32_t)ref);
            str = (struct pb){(const uint8_t *)r, (const uint8_t *)r + strlen(r)};
        }
    }
    if (!map_get(&x->stats, id, &name)) return;
    const char *k = trace_str(x->t, (uint32_t)name);
    if (!strcmp(k, "correlation_id"))
        s->corr = num;
    else if (!strcmp(k, "kernel_details"))
        s->kernel = str;
    else if (!strcmp(k, "memcpy_details"))
        s->copy = str;
    else if (!strcmp(k, "Memset_details") || !strcmp(k, "memset_details"))
        s->set = str;
    else if (!strcmp(k, "hlo_op"))
        s->hlo = str;
    else if (!strcmp(k, "flops") || !strcmp(k, "model_flops"))
        s->flops = (int64_t)(num >> 1 << 1), s->has_cost = true;
    else if (!strcmp(k, "bytes_accessed"))
        s->bytes = (int64_t)num, s->has_cost = true;
    else if (!strcmp(k, "step_num"))
        s->step = (int64_t)num, s->has_step = true;
    else if (!strcmp(k, "bytes_allocated"))
        s->total = (int64_t)num, s->has_total = true;
    else if (!strcmp(k, "allocation_bytes"))
        s->size = (int64_t)num;
    else if (!strcmp(k, "addr"))
        s->addr = (int64_t)num;
    else if (!strcmp(k, "allocator_name"))
        s->allocator = str;
    else if (!strcmp(k, "program_id"))
        s->program = num;
    else if (!strcmp(k, "Hlo Proto") || !strcmp(k, "hlo_proto"))
        s->proto = str;
}

static void read_stats(struct xplane *x, struct pb b, uint32_t field, struct stats *s) {
    struct pbf f;
    while (next_field(&b, &f))
        if (f.no == field && f.wire == 2) read_stat(x, f.sub, s);
}

static int host_kind(struct xplane *x, uint32_t name, const struct stats *s) {
    const char *n = trace_str(x->t, name);
    if (s->has_step) return TK_STEP;
    if (s->corr) return TK_LAUNCH;
    uint64_t k;
    if (map_get(&x->kinds, name, &k)) return (int)k - 1;
    int kind = trace_host_kind(n[0] == '$' ? TK_PY : TK_OP, n);
    if (!strncmp(n, "$profiler.py", 12) || !strncmp(n, "$contextlib.py", 14)) kind = TK_ANNOT;
    map_put(&x->kinds, name, (uint64_t)kind + 1);
    return kind;
}

static void device_event(struct xplane *x, struct trace_event *e, const struct stats *s) {
    struct trace *t = x->t;
    e->kind = (uint8_t)trace_device_kind(trace_str(t, e->name));
    struct pb d = s->copy.p ? s->copy : s->set;
    if (d.p || e->kind == TK_COPY || e->kind == TK_SET) {
        struct trace_copy_args c = {0};
        if (s->copy.p) e->kind = TK_COPY;
        if (e->kind == TK_COPY) e->flags |= (uint8_t)trace_copy_flags(trace_str(t, e->name));
        if (d.p) c.bytes = parse_copy_details((const char *)d.p, (size_t)(d.end - d.p), &e->flags);
        e->args = trace_intern(t, &c, sizeof c);
        return;
    }
    struct trace_kernel_args a = {.flops = s->flops, .bytes = s->bytes, .known = s->has_cost ? 4 : 0};
    if (s->kernel.p)
        parse_kernel_details((const char *)s->kernel.p, (size_t)(s->kernel.end - s->kernel.p), &a);
    if (s->hlo.p) a.op = intern_pb(t, s->hlo);
    const struct hlo_cost *c = s->has_cost ? NULL : hlo_find(x->programs, s->program, s->hlo);
    if (c) {
        a.flops = (int64_t)c->flops, a.bytes = (int64_t)c->bytes, a.known |= 4;
        a.m = c->m, a.n = c->n, a.k = c->k, a.batch = c->batch, a.type = (uint32_t)c->type;
    }
    e->args = trace_intern(t, &a, sizeof a);
}

#define DAY_PS 86400000000000000 /* longer events are damage */

static void read_event(struct xplane *x, struct pb b, uint64_t line_ps, uint16_t lane) {
    struct trace *t = x->t;
    struct pbf f;
    struct pb all = b;
    uint64_t id = 0, off = 0, dur = 0, m;
    while (next_field(&b, &f)) {
        if (f.no == 1)
            id = f.v;
        else if (f.no == 2)
            off = f.v;
        else if (f.no == 3)
            dur = f.v;
    }
    t->seen++;
    if (dur > DAY_PS || off > (uint64_t)1 << 62 || !map_get(&x->events, id, &m)) {
        t->dropped++;
        return;
    }
    struct stats s = {0};
    const struct meta *meta = &x->metas.p[m];
    read_stats(x, meta->stats, 5, &s);
    read_stats(x, all, 4, &s);
    uint64_t t0 = line_ps + off;
    uint32_t name = meta->display ? meta->display : meta->name;
    bool memory = x->device < 0 && s.has_total && s.allocator.p;
    struct trace_event *e = trace_add(t);
    if (!e) return;
    e->t0 = (int64_t)(t0 / 1000);
    e->dur = (int64_t)((t0 + dur) / 1000 - t0 / 1000);
    e->name = name;
    e->lane = lane;
    e->corr = (uint32_t)s.corr;
    if (x->device >= 0) {
        device_event(x, e, &s);
    } else if (memory) {
        struct trace_copy_args c = {strstr(trace_str(t, name), "Dealloc") ? -s.size : s.size};
        e->kind = TK_MEM;
        e->dur = RG_MAX(s.total, 0);
        e->args = trace_intern(t, &c, sizeof c);
        e->corr = (uint32_t)s.addr;
        e->aux = (uint32_t)((uint64_t)s.addr >> 32);
    } else {
        e->kind = (uint8_t)host_kind(x, name, &s);
    }
}

static void read_line(struct xplane *x, struct pb b) {
    struct trace *t = x->t;
    struct pbf f;
    struct pb scan = b, name = {0}, display = {0};
    uint64_t ts = 0, id = 0;
    while (next_field(&scan, &f)) {
        if (f.no == 1)
            id = f.v;
        else if (f.no == 2 && f.wire == 2)
            name = f.sub;
        else if (f.no == 3)
            ts = f.v;
        else if (f.no == 11 && f.wire == 2)
            display = f.sub;
    }
    if (ts > (uint64_t)1 << 50) ts %= (uint64_t)1 << 50; /* epoch ns would overflow in ps */
    if (!name.p) name = display;
    char tid[32];
    snprintf(tid, sizeof tid, "%llu", (unsigned long long)id);
    uint32_t n = name.p ? intern_pb(t, name) : 0;
    const char *text = trace_str(t, n);
    bool stream = !strncmp(text, "Stream #", 8);
    int kind = x->device < 0 ? LANE_HOST : stream || !strcmp(text, "XLA Ops") ? LANE_DEVICE : LANE_OTHER;
    if (kind == LANE_OTHER) {
        t->derived++;
        return;
    }
    uint16_t lane = trace_lane(t, kind, x->pid, trace_intern(t, tid, strlen(tid)));
    struct trace_lane *l = &t->lanes.p[lane];
    l->name = n;
    l->device = x->device >= 0 ? x->device : -1;
    l->stream = stream ? (int32_t)(id & 0x7fffffff) : 0;
    while (next_field(&b, &f))
        if (f.no == 4 && f.wire == 2) read_event(x, f.sub, ts * 1000, lane);
}

/* XLA does not name AMD's GPUs, and HIP's clock of the memory gives half of its bandwidth: a row with as many units, and that
 * bandwidth or twice as much. */
static void name_amd(struct trace_device *d) {
    const struct gpu_spec *g;
    d->cc = 0; /* its version is no compute capability */
    for (size_t i = 0; (g = gpu_spec_at(i)) && !*d->name; i++) {
        double bw = g->bw * 1e9, once = d->peak_bw / bw, twice = 2 * once;
        if (g->cc || g->sms != d->sms) continue;
        if ((once > 0.95 && once < 1.05) || (twice > 0.95 && twice < 1.05))
            snprintf(d->name, sizeof d->name, "AMD %s", g->name);
    }
}

static void read_device(struct xplane *x, struct pb b) {
    struct trace *t = x->t;
    struct pbf f, g;
    struct trace_device d = {0};
    bool amd = false;
    while (next_field(&b, &f)) {
        if (f.no != 6 || f.wire != 2) continue;
        uint64_t id = 0, num = 0, name;
        struct pb s = f.sub, str = {0};
        while (next_field(&s, &g)) {
            if (g.no == 1)
                id = g.v;
            else if (g.no == 3 || g.no == 4)
                num = g.v;
            else if (g.no == 5)
                str = g.sub;
        }
        if (!map_get(&x->stats, id, &name)) continue;
        const char *k = trace_str(t, (uint32_t)name);
        int i = num > INT32_MAX ? 0 : (int)num;
        if (!strcmp(k, "gpu_device_name") && str.p)
            snprintf(d.name, sizeof d.name, "%.*s", (int)RG_MIN(str.end - str.p, 60), (const char *)str.p);
        else if (!strcmp(k, "device_vendor"))
            amd = str.p && str.end - str.p == 3 && !memcmp(str.p, "AMD", 3);
        else if (!strcmp(k, "core_count"))
            d.sms = i;
        else if (!strcmp(k, "memory_bandwidth"))
            d.peak_bw = (double)num;
        else if (!strcmp(k, "memory_size"))
            d.memory = (int64_t)(num >> 1 << 1);
        else if (!strcmp(k, "compute_cap_major"))
            d.cc += RG_MIN(i, 99) * 10;
        else if (!strcmp(k, "compute_cap_minor"))
            d.cc += RG_MIN(i, 9);
    }
    while ((int)t->devices.n <= x->device && t->devices.n < 64)
        vec_push(&t->arena, &t->devices, ((struct trace_device){.id = (int)t->devices.n}));
    d.id = x->device;
    if (amd) name_amd(&d);
    if (x->device < (int)t->devices.n) t->devices.p[x->device] = d;
}

static void read_tables(struct xplane *x, struct pb b) {
    struct trace *t = x->t;
    struct pbf f, g;
    uint64_t key;
    struct pb val;
    while (next_field(&b, &f)) {
        if (f.wire != 2 || (f.no != 4 && f.no != 5)) continue;
        read_map_entry(f.sub, &key, &val);
        struct meta m = {.stats = val};
        struct pb v = val;
        while (next_field(&v, &g)) {
            if (g.no == 2 && g.wire == 2)
                m.name = intern_pb(t, g.sub);
            else if (g.no == 4 && g.wire == 2 && g.sub.end > g.sub.p)
                m.display = intern_pb(t, g.sub);
        }
        if (f.no == 5) {
            map_put(&x->stats, key, m.name);
        } else {
            map_put(&x->events, key, x->metas.n);
            vec_push(&t->arena, &x->metas, m);
        }
    }
}

static void init_tables(struct xplane *x, struct pb plane) {
    struct arena *a = &x->t->arena;
    map_init(&x->events, a), map_init(&x->stats, a), map_init(&x->kinds, a);
    read_tables(x, plane);
}

static bool is_named(struct pb plane, const char *name) {
    struct pbf f;
    size_t n = strlen(name);
    while (next_field(&plane, &f))
        if (f.no == 2 && f.wire == 2) return (size_t)(f.sub.end - f.sub.p) == n && !memcmp(f.sub.p, name, n);
    return false;
}

/* "jit_step(17)" is program 17; newer files say it in a stat too. */
static uint64_t program_of(const char *name) {
    const char *p = strrchr(name, '(');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void read_programs(struct trace *t, struct hlo *programs, struct pb plane) {
    struct xplane x = {.t = t};
    init_tables(&x, plane);
    for (uint32_t i = 0; i < x.metas.n; i++) {
        struct stats s = {0};
        read_stats(&x, x.metas.p[i].stats, 5, &s);
        if (!s.program) s.program = program_of(trace_str(t, x.metas.p[i].name));
        if (s.proto.p) hlo_read(programs, s.proto, s.program);
    }
}

static void read_plane(struct trace *t, struct hlo *programs, struct pb b) {
    struct xplane x = {.t = t, .programs = programs, .device = -2};
    struct pbf f;
    struct pb scan = b;
    while (next_field(&scan, &f)) {
        if (f.no != 2 || f.wire != 2) continue;
        x.pid = intern_pb(t, f.sub);
        const char *n = trace_str(t, x.pid);
        if (!strncmp(n, "/device:GPU:", 12) || !strncmp(n, "/device:TPU:", 12)) {
            x.device = 0;
            for (n += 12; *n >= '0' && *n <= '9' && x.device < 1000; n++)
                x.device = x.device * 10 + (*n - '0');
        } else if (!strcmp(n, "/host:CPU")) {
            x.device = -1;
        }
    }
    if (x.device == -2) return;
    init_tables(&x, b);
    if (x.device >= 0) read_device(&x, b);
    while (next_field(&b, &f))
        if (f.no == 3 && f.wire == 2) read_line(&x, f.sub);
}

/* Which kernel of an instruction has its cost: by instruction and cost, the name with most time. */
struct owner {
    uint64_t key;
    uint32_t name;
    int64_t ns;
};
static uint64_t owner_key(const struct trace_kernel_args *a) {
    uint64_t key[3] = {a->op, (uint64_t)a->flops, (uint64_t)a->bytes};
    return hash_bytes(key, sizeof key, 0);
}

static const struct trace_kernel_args *counted_args(struct trace *t, const struct trace_event *e) {
    const struct trace_kernel_args *a = e->kind == TK_KERNEL ? trace_blob(t, e->args, sizeof *a) : NULL;
    return a && a->op && a->type ? a : NULL;
}

static void settle_costs(struct trace *t) {
    struct map time, best; /* by instruction and name; by instruction -> index + 1 */
    VEC(struct owner) own = {0};
    uint64_t at, ns;
    map_init(&time, &t->arena), map_init(&best, &t->arena);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_event *e = &t->ev[i];
        const struct trace_kernel_args *a = counted_args(t, e);
        if (!a) continue;
        uint64_t key = owner_key(a), named = hash_u64(key + e->name);
        if (!map_get(&time, named, &ns)) ns = 0;
        map_put(&time, named, ns += (uint64_t)e->dur);
        if (!map_get(&best, key, &at)) {
            vec_push(&t->arena, &own, ((struct owner){key, e->name, 0}));
            map_put(&best, key, at = own.n);
        }
        struct owner *o = &own.p[at - 1];
        if ((int64_t)ns > o->ns) o->ns = (int64_t)ns, o->name = e->name;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_event *e = &t->ev[i];
        const struct trace_kernel_args *a = counted_args(t, e);
        if (!a || !map_get(&best, owner_key(a), &at) || own.p[at - 1].name == e->name) continue;
        struct trace_kernel_args bare = *a;
        bare.flops = bare.bytes = bare.m = bare.n = bare.k = bare.batch = 0;
        bare.type = 0, bare.known &= ~4u;
        e->args = trace_intern(t, &bare, sizeof bare);
    }
}

void read_xplane(struct trace *t, struct input *in) {
    struct pb b = read_whole(t, in), scan = b; /* tables may follow the lines that need them */
    struct pbf f;
    struct hlo programs;
    hlo_init(&programs, &t->arena);
    while (next_field(&scan, &f))
        if (f.no == 1 && f.wire == 2 && is_named(f.sub, "/host:metadata")) read_programs(t, &programs, f.sub);
    while (next_field(&b, &f))
        if (f.no == 1 && f.wire == 2) read_plane(t, &programs, f.sub);
    if (b.p < b.end) t->truncated = true;
    if (programs.cost.n) settle_costs(t);
    if (!t->n)
        err_throw(t->err, RG_EPARSE, "the xplane file holds no events of a host or device%s",
                  t->truncated ? "; it was cut short" : "");
    t->format = TRACE_XPLANE;
    trace_finish(t);
}
