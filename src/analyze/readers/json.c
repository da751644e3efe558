/* json.c: reads Chrome-style trace JSON as PyTorch (Kineto, all eras) and JAX write it.
 *
 * One pass, one event at a time, at hundreds of megabytes a second: a key is told by its length and
 * bytes, unwanted values are skipped, wanted ones are slices of the window. The header may stand
 * before or after the events, so nothing here needs it: what depends on it is settled in resolve().
 * A broken event costs that event: the reader looks for the next position where one begins, counts the
 * loss, and bounds the work spent on looking. Tests: tests/unit/analyze.c, tests/unit/analyze_fuzz.c */
#include "analyze/readers/json.h"

struct jev { /* what one event object said */
    uint8_t ph;
    bool has_ts, has_dur, has_args;
    int64_t ts, dur;
    struct slice cat, name, pid, tid;
    /* args */
    struct slice arg_name, dims, types, strides, concrete, details, copy_details, set_details, hlo, labels;
    struct slice stream, device;
    int64_t corr, regs, smem, bytes, flops, cost_bytes, addr, total, dev_type, step, graph_node;
    uint32_t grid[3], block[3];
    uint32_t known;
    bool has_corr, has_bytes, has_step, has_total;
};

struct proc {
    uint32_t pid, name, labels;
};

struct json {
    struct trace *t;
    struct input *in;
    struct scan s;
    VEC(struct proc) procs;
    uint64_t torch_cats, rework;
    struct { /* the last few lanes: most events repeat one of them */
        uint64_t key;
        uint16_t lane;
        bool full;
    } lane_cache[64];
    VEC(uint8_t) name_kind; /* by string id: kind + 1 of a host name, 0 not asked yet */
};

/* ---- one event ------------------------------------------------------------------------------------ */

#define KEY(text) (k.n == sizeof(text) - 1 && !memcmp(k.p, text, sizeof(text) - 1))

static void triple(const struct slice *v, uint32_t out[3]) {
    int64_t x = 0;
    int i = 0;
    bool digit = false;
    for (uint32_t j = 0; j < v->n && i < 3; j++) {
        uint8_t c = (uint8_t)(v->p[j] - '0');
        if (c < 10) {
            if (x < UINT32_MAX) x = x * 10 + c;
            digit = true;
        } else if (digit) {
            out[i++] = x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
            x = 0;
            digit = false;
        }
    }
}

/* The keys are in the order of how often they occur; k.n first makes most comparisons one integer. */
static void take_arg(struct jev *e, struct slice k, struct slice v) {
    switch (k.n) {
    case 4:
        if (KEY("grid"))
            triple(&v, e->grid), e->known |= 1;
        else if (KEY("name"))
            e->arg_name = v;
        else if (KEY("Addr"))
            e->addr = js_slice_int(&v);
        break;
    case 5:
        if (KEY("block"))
            triple(&v, e->block);
        else if (KEY("bytes") || KEY("Bytes"))
            e->bytes = js_slice_int(&v), e->has_bytes = true;
        else if (KEY("flops"))
            e->flops = js_slice_int(&v), e->known |= 4;
        break;
    case 6:
        if (KEY("stream"))
            e->stream = v;
        else if (KEY("device"))
            e->device = v;
        else if (KEY("hlo_op"))
            e->hlo = v;
        else if (KEY("labels"))
            e->labels = v;
        break;
    case 8:
        if (KEY("step_num")) e->step = js_slice_int(&v), e->has_step = true;
        break;
    case 10:
        if (KEY("Input Dims") || KEY("Input dims"))
            e->dims = v;
        else if (KEY("Input type"))
            e->types = v;
        break;
    case 11:
        if (KEY("correlation"))
            e->corr = js_slice_int(&v), e->has_corr = true;
        else if (KEY("Device Type"))
            e->dev_type = js_slice_int(&v);
        break;
    case 13:
        if (KEY("Input Strides"))
            e->strides = v;
        else if (KEY("shared memory"))
            e->smem = js_slice_int(&v), e->known |= 2;
        else if (KEY("graph node id"))
            e->graph_node = js_slice_int(&v);
        break;
    case 14:
        if (KEY("correlation_id"))
            e->corr = js_slice_int(&v), e->has_corr = true;
        else if (KEY("kernel_details"))
            e->details = v;
        else if (KEY("memcpy_details"))
            e->copy_details = v;
        else if (KEY("Memset_details"))
            e->set_details = v;
        else if (KEY("bytes_accessed"))
            e->cost_bytes = js_slice_int(&v), e->known |= 4;
        break;
    case 15:
        if (KEY("Concrete Inputs"))
            e->concrete = v;
        else if (KEY("Total Allocated"))
            e->total = js_slice_int(&v), e->has_total = true;
        break;
    case 20:
        if (KEY("registers per thread")) e->regs = js_slice_int(&v), e->known |= 2;
        break;
    default: break;
    }
}

/* The next key of an object, and what follows it; at its end *k is empty and what follows is behind it. */
static inline const uint8_t *js_next(struct scan *s, const uint8_t *p, struct slice *k) {
    for (p = js_space(p); *p == ',';) p = js_space(p + 1);
    k->p = NULL;
    if (*p == '}') return p + 1;
    if (*p != '"' || p >= s->end) return js_bad(s, p);
    return js_key(s, p + 1, k);
}

static const uint8_t *parse_args(struct scan *s, const uint8_t *p, struct jev *e) {
    struct slice k, v;
    p = js_space(p);
    if (*p != '{') return js_value(s, p, &v);
    e->has_args = true;
    for (p++; (p = js_next(s, p, &k)) && k.p;) {
        p = js_value(s, p, &v);
        if (!p) return NULL;
        take_arg(e, k, v);
    }
    return p;
}

static const uint8_t *parse_event(struct scan *s, const uint8_t *p, struct jev *e) {
    struct slice k, v;
    memset(e, 0, sizeof *e);
    for (p++; (p = js_next(s, p, &k)) && k.p;) {
        if (KEY("ts"))
            p = js_time(s, p, &e->ts), e->has_ts = true;
        else if (KEY("dur"))
            p = js_time(s, p, &e->dur), e->has_dur = true;
        else if (KEY("args"))
            p = parse_args(s, p, e);
        else {
            p = js_value(s, p, &v);
            if (!p) return NULL;
            if (KEY("ph"))
                e->ph = v.n ? v.p[0] : 0;
            else if (KEY("name"))
                e->name = v;
            else if (KEY("pid"))
                e->pid = v;
            else if (KEY("tid"))
                e->tid = v;
            else if (KEY("cat"))
                e->cat = v;
        }
        if (!p) return NULL;
    }
    return p;
}

/* ---- what becomes of it ---------------------------------------------------------------------------- */

static uint32_t intern_slice(struct trace *t, const struct slice *s) {
    if (!s->esc) return trace_intern(t, s->p, RG_MIN(s->n, 16384u));
    char buf[16384];
    return trace_intern(t, buf, js_unescape(s, buf, sizeof buf));
}

static uint64_t hash_slice(const struct slice *s, uint64_t h) {
    for (uint32_t i = 0; i < s->n; i++) h = (h ^ s->p[i]) * 0x100000001b3u;
    return h ^ s->n;
}

static uint16_t lane_of(struct json *j, int kind, const struct slice *pid, const struct slice *tid) {
    uint64_t key = hash_slice(tid, hash_slice(pid, 0xcbf29ce484222325u ^ (uint64_t)kind << 32));
    uint32_t c = (uint32_t)(key ^ key >> 32) & (RG_COUNT(j->lane_cache) - 1);
    if (j->lane_cache[c].full && j->lane_cache[c].key == key) return j->lane_cache[c].lane;
    uint16_t l = trace_lane(j->t, kind, intern_slice(j->t, pid), intern_slice(j->t, tid));
    j->lane_cache[c].full = true;
    j->lane_cache[c].key = key;
    j->lane_cache[c].lane = l;
    return l;
}

/* cat -> kind; -1: an unknown category, 0: known and not counted. 2021 wrote capital letters. */
static int category(const struct slice *c) {
    static const struct {
        const char *text;
        int8_t kind;
    } cats[] = {
        {"kernel", TK_KERNEL},
        {"Kernel", TK_KERNEL},
        {"gpu_memcpy", TK_COPY},
        {"Memcpy", TK_COPY},
        {"gpu_memset", TK_SET},
        {"Memset", TK_SET},
        {"cuda_runtime", TK_API},
        {"Runtime", TK_API},
        {"cuda_driver", TK_API},
        {"xpu_runtime", TK_API},
        {"xpu_driver", TK_API},
        {"hip_runtime", TK_API},
        {"cpu_op", TK_OP},
        {"Operator", TK_OP},
        {"user_annotation", TK_ANNOT},
        {"python_function", TK_PY},
        {"Python", TK_PY},
        {"overhead", TK_OVERHEAD},
        {"ac2g", TK_NONE},
        {"fwdbwd", TK_NONE},
        {"async", TK_NONE},
        {"async_cpu_to_gpu", TK_NONE},
        {"gpu_user_annotation", TK_NONE},
        {"cuda_sync", TK_NONE},
        {"cuda_event", TK_NONE},
        {"Trace", TK_NONE},
        {"cpu_instant_event", TK_MEM},
    };
    for (size_t i = 0; i < RG_COUNT(cats); i++)
        if (c->n == strlen(cats[i].text) && !memcmp(c->p, cats[i].text, c->n)) return cats[i].kind;
    return -1;
}

static int host_kind(struct json *j, int kind, uint32_t name) {
    struct trace *t = j->t;
    if (name >= j->name_kind.n) {
        uint32_t n = RG_MAX(1024u, name * 2 + 1);
        vec_need(&t->arena, &j->name_kind, n - j->name_kind.n);
        memset(j->name_kind.p + j->name_kind.n, 0, n - j->name_kind.n);
        j->name_kind.n = n;
    }
    if (!j->name_kind.p[name]) {
        const char *s = trace_str(t, name);
        int k = kind == TK_API ? trace_api_kind(s) : trace_host_kind(kind, s);
        j->name_kind.p[name] = (uint8_t)(k + 1);
    }
    return j->name_kind.p[name] - 1;
}

static char *put_part(char *o, const struct slice *s, bool wanted) {
    *o++ = 0x1f;
    if (wanted && s->n) memcpy(o, s->p, s->n), o += s->n;
    return o;
}

static uint32_t op_args(struct trace *t, const struct jev *e) {
    char buf[8192];
    size_t n = e->dims.n + e->types.n + e->concrete.n + e->strides.n + 3;
    if (!e->dims.n || n > sizeof buf) return 0;
    /* Strides and padding of a convolution stand among the concrete inputs; those of products do not matter. */
    bool conv = e->name.n > 4 && memmem(e->name.p, e->name.n, "conv", 4);
    bool strides = e->strides.n && !conv && !(e->name.n && memmem(e->name.p, e->name.n, "mm", 2));
    char *o = buf;
    memcpy(o, e->dims.p, e->dims.n), o += e->dims.n;
    o = put_part(o, &e->types, true);
    if (conv || strides) o = put_part(o, &e->concrete, conv);
    if (strides) o = put_part(o, &e->strides, true);
    return trace_intern(t, buf, (size_t)(o - buf));
}

static uint32_t device_args(struct trace *t, const struct jev *e, struct trace_event *r) {
    if (r->kind == TK_COPY || r->kind == TK_SET) {
        struct trace_copy_args c = {e->bytes};
        const struct slice *d = e->copy_details.n ? &e->copy_details : &e->set_details;
        if (d->n) c.bytes = parse_copy_details((const char *)d->p, d->n, &r->flags);
        return trace_intern(t, &c, sizeof c);
    }
    struct trace_kernel_args a = {.regs = (uint32_t)e->regs,
                                  .smem = (uint32_t)e->smem,
                                  .known = e->known,
                                  .flops = e->flops,
                                  .bytes = e->cost_bytes};
    memcpy(a.grid, e->grid, sizeof a.grid);
    memcpy(a.block, e->block, sizeof a.block);
    if (e->details.n) parse_kernel_details((const char *)e->details.p, e->details.n, &a);
    if (e->hlo.n) a.op = intern_slice(t, &e->hlo);
    return a.known || a.op ? trace_intern(t, &a, sizeof a) : 0;
}

static void add_memory(struct json *j, const struct jev *e) {
    if (!e->has_bytes) return;
    struct trace_event *r = trace_add(j->t);
    if (!r) return;
    struct trace_copy_args c = {e->bytes};
    r->t0 = e->ts;
    r->kind = TK_MEM;
    r->flags = (uint8_t)((e->bytes < 0 ? TF_FREE : 0) | (e->dev_type == 1 ? 0 : TF_HOST));
    r->dur = e->has_total ? RG_MAX(e->total, 0) : -1;
    r->lane = lane_of(j, LANE_HOST, &e->pid, &e->tid);
    r->args = trace_intern(j->t, &c, sizeof c);
    r->corr = (uint32_t)e->addr;
    r->aux = (uint32_t)((uint64_t)e->addr >> 32);
}

static void add_meta(struct json *j, const struct jev *e) {
    struct trace *t = j->t;
    if (js_is(&e->name, "process_name") || js_is(&e->name, "process_labels")) {
        uint32_t pid = intern_slice(t, &e->pid);
        struct proc *p = NULL;
        for (uint32_t i = 0; i < j->procs.n && i < 4096; i++)
            if (j->procs.p[i].pid == pid) p = &j->procs.p[i];
        if (!p) {
            vec_push(&t->arena, &j->procs, ((struct proc){.pid = pid}));
            p = &j->procs.p[j->procs.n - 1];
        }
        if (e->arg_name.n) p->name = intern_slice(t, &e->arg_name);
        if (e->labels.n) p->labels = intern_slice(t, &e->labels);
    } else if (js_is(&e->name, "thread_name") && e->arg_name.n) {
        /* Host lanes and lanes not yet distinguished share the numbers of their threads. */
        uint32_t name = intern_slice(t, &e->arg_name);
        uint16_t lane = lane_of(j, LANE_RAW, &e->pid, &e->tid);
        t->lanes.p[lane].name = name;
    }
}

#define WEEK_NS (7LL * 24 * 3600 * 1000000000)

static void add_event(struct json *j, const struct jev *e) {
    struct trace *t = j->t;
    t->seen++;
    if (e->ph == 'M') return add_meta(j, e);
    int kind = e->cat.n ? category(&e->cat) : -1;
    if (e->ph == 'i' || e->ph == 'I') {
        if (js_is(&e->name, "[memory]")) add_memory(j, e), j->torch_cats++;
        return;
    }
    if (e->ph == 's' || e->ph == 'f' || e->ph == 't') {
        t->flows++;
        return;
    }
    if (e->ph != 'X') return;
    if (kind == TK_NONE || kind == TK_MEM) {
        t->derived++;
        return;
    }
    if (!e->has_ts || e->dur > WEEK_NS || (e->ts == 0 && e->dur == 0 && kind == TK_KERNEL)) {
        t->dropped++;
        return;
    }
    struct trace_event *r = trace_add(t);
    if (!r) return;
    r->t0 = e->ts;
    r->dur = e->dur;
    r->name = intern_slice(t, &e->name);
    r->corr = e->has_corr ? (uint32_t)e->corr : 0;
    if (kind > 0) {
        j->torch_cats++;
        if (kind == TK_KERNEL || kind == TK_COPY || kind == TK_SET) {
            const struct slice *dev = e->device.n ? &e->device : &e->pid;
            const struct slice *str = e->stream.n ? &e->stream : &e->tid;
            r->lane = lane_of(j, LANE_DEVICE, dev, str);
            r->kind = (uint8_t)(kind == TK_KERNEL ? trace_device_kind(trace_str(t, r->name)) : kind);
            if (r->kind == TK_COPY) r->flags |= (uint8_t)trace_copy_flags(trace_str(t, r->name));
            if (e->graph_node) r->flags |= TF_GRAPH;
            r->args = device_args(t, e, r);
        } else {
            r->lane = lane_of(j, kind == TK_OVERHEAD ? LANE_OTHER : LANE_HOST, &e->pid, &e->tid);
            r->kind = (uint8_t)host_kind(j, kind, r->name);
            if (kind == TK_OP) r->args = op_args(t, e);
        }
        return;
    }
    /* No category: JAX, or a foreign trace. The thread's name decides at the end. */
    r->lane = lane_of(j, LANE_RAW, &e->pid, &e->tid);
    r->kind = e->has_step ? TK_STEP : TK_OP;
    if (e->copy_details.n || e->set_details.n) {
        r->kind = e->copy_details.n ? TK_COPY : TK_SET;
        if (r->kind == TK_COPY) r->flags |= (uint8_t)trace_copy_flags(trace_str(t, r->name));
        r->args = device_args(t, e, r);
    } else if (e->details.n || e->hlo.n || e->flops) {
        r->args = device_args(t, e, r);
    }
}

/* ---- header ---------------------------------------------------------------------------------------- */

static const uint8_t *device_property(struct scan *s, const uint8_t *p, struct trace_device *d) {
    struct slice k, v;
    for (p++;;) {
        p = js_space(p);
        if (*p == '}') return p + 1;
        if (*p == ',') {
            p++;
            continue;
        }
        if (*p != '"') return NULL;
        p = js_key(s, p + 1, &k);
        if (!p) return NULL;
        p = js_value(s, p, &v);
        if (!p) return NULL;
        int64_t x = js_slice_int(&v);
        int i = x < 0 || x > INT32_MAX ? 0 : (int)x;
        if (KEY("name"))
            snprintf(d->name, sizeof d->name, "%.*s", (int)RG_MIN(v.n, 60u), v.p);
        else if (KEY("id"))
            d->id = i;
        else if (KEY("totalGlobalMem"))
            d->memory = x;
        else if (KEY("computeMajor"))
            d->cc += RG_MIN(i, 99) * 10;
        else if (KEY("computeMinor"))
            d->cc += RG_MIN(i, 9);
        else if (KEY("numSms"))
            d->sms = i;
        else if (KEY("maxThreadsPerMultiprocessor"))
            d->max_threads_sm = i;
        else if (KEY("regsPerMultiprocessor"))
            d->regs_sm = i;
        else if (KEY("sharedMemPerMultiprocessor") || KEY("maxSharedMemoryPerMultiProcessor"))
            d->smem_sm = i;
    }
}

static void device_properties(struct json *j, const struct slice *v) {
    struct scan s = {.end = v->p + v->n};
    const uint8_t *p = v->p;
    if (!v->n || *p != '[') return;
    for (p++; p && p < s.end && j->t->devices.n < 64;) {
        p = js_space(p);
        if (*p == ',')
            p++;
        else if (*p == '{') {
            struct trace_device d = {.id = (int)j->t->devices.n};
            p = device_property(&s, p, &d);
            vec_push(&j->t->arena, &j->t->devices, d);
        } else
            break;
    }
}

static int64_t find_int(const struct slice *v, const char *key) {
    const uint8_t *p = memmem(v->p, v->n, key, strlen(key));
    if (!p) return -1;
    struct slice r = {p + strlen(key), (uint32_t)(v->p + v->n - p - (ptrdiff_t)strlen(key)), false};
    while (r.n && (*r.p == '"' || *r.p == ':' || *r.p == ' ')) r.p++, r.n--;
    return r.n && (uint8_t)(*r.p - '0') < 10 ? js_slice_int(&r) : -1;
}

/* Metadata of a program: add_metadata_json writes a number, add_metadata a string. */
static int64_t quoted_int(struct slice v) {
    if (v.n && *v.p == '"') v.p++, v.n--;
    return v.n && (uint8_t)(*v.p - '0') < 10 ? js_slice_int(&v) : 0;
}

static void take_header(struct json *j, struct slice k, struct slice v) {
    struct trace *t = j->t;
    int flag = v.n && (v.p[0] == '1' || v.p[0] == 't');
    if (KEY("deviceProperties"))
        device_properties(j, &v);
    else if (KEY("with_stack"))
        t->with_stack = flag;
    else if (KEY("record_shapes"))
        t->with_shapes = flag;
    else if (KEY("profile_memory"))
        t->with_memory = flag;
    else if (KEY("with_flops"))
        t->with_flops = flag;
    else if (KEY("with_modules"))
        t->with_modules = flag;
    else if (KEY("ridge_export"))
        t->own_export = t->has_header = true;
    else if (KEY("schemaVersion") || KEY("displayTimeUnit"))
        t->has_header = true;
    else if (KEY("baseTimeNanoseconds"))
        t->epoch = js_slice_int(&v);
    else if (KEY("num_threads"))
        t->threads = (int)RG_MIN(RG_MAX(quoted_int(v), 0), 1 << 20);
    else if (KEY("num_cores"))
        t->cpu.cores = (uint32_t)RG_MIN(RG_MAX(quoted_int(v), 0), 1 << 20);
    else if (KEY("distributedInfo")) {
        t->rank = (int)find_int(&v, "\"rank\"");
        t->world = (int)find_int(&v, "\"world_size\"");
    } else if (KEY("INFO") || KEY("WARNING") || KEY("ERROR")) {
        /* The profiler's own log: the only record of dropped events. */
        for (const uint8_t *p = v.p; (p = memmem(p, (size_t)(v.p + v.n - p), "ropped", 6)); p += 6)
            t->logged_drops++;
    }
}

/* ---- the stream ------------------------------------------------------------------------------------ */

/* The next position after p where an event may begin: '{' after a comma or bracket, before a key. */
static const uint8_t *find_event(const uint8_t *lo, const uint8_t *p, const uint8_t *end) {
    while (p < end && (p = memchr(p, '{', (size_t)(end - p)))) {
        const uint8_t *b = p;
        while (b > lo && b[-1] <= ' ') b--;
        uint8_t c = b > lo ? b[-1] : ',';
        const uint8_t *a = js_space(p + 1);
        if ((c == ',' || c == '[' || c == '}') && (*a == '"' || *a == '}')) return p;
        p++;
    }
    return NULL;
}

#define EVENT_MAX ((size_t)4 << 20)

/* From `pos` (inside the event array) to its end; returns the position after it. */
static size_t read_events(struct json *j, size_t pos) {
    struct input *in = j->in;
    struct jev e;
    for (;;) {
        const uint8_t *p = js_space(in->buf + pos);
        while (*p == ',' && p < in->buf + in->len) p = js_space(p + 1);
        pos = (size_t)(p - in->buf);
        if (pos >= in->len) {
            if (input_more(in, pos)) {
                pos = 0;
                continue;
            }
            j->t->truncated = true;
            return in->len;
        }
        if (*p == ']') return pos + 1;
        bool ok = *p == '{';
        if (ok) {
            j->s.end = in->buf + in->len;
            const uint8_t *q = parse_event(&j->s, p, &e);
            if (q) {
                add_event(j, &e);
                pos = (size_t)(q - in->buf);
                continue;
            }
            if (!j->s.bad && in->len - pos < EVENT_MAX) { /* the window ended inside it */
                if (input_more(in, pos)) {
                    pos = 0;
                    continue;
                }
                pos = 0; /* input_more moved it to the front */
                j->t->truncated = true;
                if (j->rework > (8u << 20) + 2 * j->t->bytes_read) return in->len;
            }
        }
        if (!*p && !ok) { /* NUL bytes: a sparse or half-written file has no more to say */
            j->t->truncated = true;
            return in->len;
        }
        j->t->lost++;
        j->rework += RG_MIN(in->len - pos, (size_t)1 << 20);
        if (j->rework > (64u << 20) + 4 * j->t->bytes_read) return j->t->truncated = true, in->len;
        const uint8_t *q = find_event(in->buf, in->buf + pos + 1, in->buf + in->len);
        while (!q) {
            size_t keep = RG_MIN(in->len, (size_t)16);
            if (!input_more(in, in->len - keep)) return in->len;
            q = find_event(in->buf, in->buf, in->buf + in->len);
        }
        pos = (size_t)(q - in->buf);
    }
}

/* After a header that does not parse: the next "traceEvents". It begins past `pos`, because what does not parse
 * there may be that very key; false when there is none, or when looking has cost too much already. */
static bool seek_events(struct json *j, size_t *pos) {
    struct input *in = j->in;
    size_t from = *pos + 1;
    j->t->lost++;
    j->rework += RG_MIN(in->len - *pos, (size_t)1 << 20);
    if (j->rework > (64u << 20) + 4 * j->t->bytes_read) return j->t->truncated = true, false;
    for (;;) {
        const uint8_t *f = memmem(in->buf + from, in->len - from, "\"traceEvents\"", 13);
        if (f) return *pos = (size_t)(f - in->buf), true;
        size_t keep = RG_MIN(in->len, (size_t)16);
        if (!input_more(in, in->len - keep)) return false;
        from = 0;
    }
}

/* Top level: header keys in any order around "traceEvents". */
static void read_object(struct json *j) {
    struct input *in = j->in;
    size_t pos = 1;
    bool events = false;
    for (;;) {
        const uint8_t *p = js_space(in->buf + pos), *q;
        while (*p == ',') p = js_space(p + 1);
        pos = (size_t)(p - in->buf);
        struct slice k, v;
        j->s.end = in->buf + in->len;
        if (*p == '}') return;
        bool more = pos >= in->len;
        if (!more && *p == '"' && (q = js_string(&j->s, p + 1, &k))) {
            q = js_space(q);
            if (*q == ':') {
                q = js_space(q + 1);
                if (KEY("traceEvents") && *q == '[') {
                    pos = read_events(j, (size_t)(q + 1 - in->buf));
                    events = true;
                    if (j->t->truncated) return;
                    continue;
                }
                const uint8_t *r = js_value(&j->s, q, &v);
                if (r) {
                    take_header(j, k, v);
                    pos = (size_t)(r - in->buf);
                    continue;
                }
                more = !j->s.bad;
                if (!more && !events && KEY("traceEvents")) { /* the bracket is broken, not the events */
                    j->t->lost++;
                    pos = read_events(j, (size_t)(q - in->buf) + 1);
                    events = true;
                    if (j->t->truncated) return;
                    continue;
                }
            } else
                more = q >= j->s.end;
        } else if (!more)
            more = *p == '"' && !j->s.bad;
        if (more && in->len - pos < INPUT_MAX && input_more(in, pos)) {
            pos = 0;
            continue;
        }
        if (events || more) {
            j->t->truncated |= more;
            if (!events && more) return;
            if (!more) j->t->lost++;
            return;
        }
        if (!seek_events(j, &pos)) return;
    }
}

/* ---- what could only be known at the end -------------------------------------------------------- */

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* atoi without its undefined overflow. */
static int32_t small_int(const char *s) {
    int32_t x = 0;
    while (*s >= '0' && *s <= '9' && x < 100000000) x = x * 10 + (*s++ - '0');
    return x;
}

static void resolve_lanes(struct json *j) {
    struct trace *t = j->t;
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        struct trace_lane *l = &t->lanes.p[i];
        const char *proc = "";
        for (uint32_t k = 0; k < j->procs.n && k < 4096; k++)
            if (j->procs.p[k].pid == l->pid) proc = trace_str(t, j->procs.p[k].name);
        if (l->kind == LANE_RAW) {
            const char *name = trace_str(t, l->name);
            if (starts(proc, "/device:")) {
                bool work = starts(name, "Stream #") || (strstr(proc, "TPU") && !strcmp(name, "XLA Ops"));
                l->kind = work ? LANE_DEVICE : LANE_OTHER;
                const char *c = strrchr(proc, ':');
                l->device = c ? small_int(c + 1) : 0;
                l->stream = starts(name, "Stream #") ? small_int(name + 8) : 0;
            } else {
                l->kind = LANE_HOST;
            }
        } else if (l->kind == LANE_DEVICE) {
            l->device = small_int(trace_str(t, l->pid));
            const char *s = trace_str(t, l->tid);
            while (*s && (*s < '0' || *s > '9')) s++;
            l->stream = *s ? small_int(s) : 0;
        }
    }
    /* A name given to a thread belongs to the host lane of the same thread. */
    for (uint32_t i = 0; i < t->lanes.n; i++)
        for (uint32_t k = 0; k < t->lanes.n && t->lanes.n < 2000; k++)
            if (i != k && t->lanes.p[i].pid == t->lanes.p[k].pid && t->lanes.p[i].tid == t->lanes.p[k].tid &&
                !t->lanes.p[i].name)
                t->lanes.p[i].name = t->lanes.p[k].name;
}

/* Host memory is not what runs out, but where there is no device. */
static void resolve_memory(struct trace *t) {
    bool device = false;
    for (uint32_t i = 0; i < t->n; i++)
        device |= t->lanes.p[t->ev[i].lane].kind == LANE_DEVICE ||
                  (t->ev[i].kind == TK_MEM && !(t->ev[i].flags & TF_HOST));
    for (uint32_t i = 0; i < t->n && device; i++)
        if (t->ev[i].kind == TK_MEM && t->ev[i].flags & TF_HOST) t->ev[i].kind = TK_NONE;
}

static void resolve_events(struct json *j, bool jax) {
    struct trace *t = j->t;
    resolve_memory(t);
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_event *e = &t->ev[i];
        const struct trace_lane *l = &t->lanes.p[e->lane];
        const char *name = trace_str(t, e->name);
        if (!jax) continue;
        if (l->kind == LANE_OTHER) {
            e->kind = TK_NONE;
            t->derived++;
        } else if (l->kind == LANE_DEVICE) {
            if (e->kind != TK_COPY && e->kind != TK_SET) e->kind = (uint8_t)trace_device_kind(name);
        } else if (e->kind != TK_STEP) {
            /* A host row with a correlation id is the call that submitted the work. */
            bool frame = name[0] == '$';
            if (e->corr)
                e->kind = TK_LAUNCH;
            else
                e->kind = (uint8_t)host_kind(j, frame ? TK_PY : TK_OP, e->name);
            if (starts(name, "$profiler.py") || starts(name, "$contextlib.py")) e->kind = TK_ANNOT;
            e->args = 0;
        }
    }
}

static void run(struct json *j) {
    struct input *in = j->in;
    const uint8_t *p = js_space(in->buf);
    size_t pos = (size_t)(p - in->buf);
    if (*p == '[') {
        read_events(j, pos + 1);
    } else {
        input_more(in, pos);
        read_object(j);
    }
    struct trace *t = j->t;
    t->repaired = j->s.repaired;
    resolve_lanes(j);
    bool device = false;
    for (uint32_t i = 0; i < j->procs.n; i++)
        device |= starts(trace_str(t, j->procs.p[i].name), "/device:") ||
                  starts(trace_str(t, j->procs.p[i].name), "/host:");
    bool jax = !j->torch_cats && device;
    if (!jax && !j->torch_cats && t->n == 0)
        err_throw(t->err, RG_EPARSE,
                  t->truncated && !t->seen
                      ? "the JSON ends before its first trace event; the capture was cut short or the "
                        "disk was full: record it again"
                      : "this is JSON but holds no trace events; expected a Chrome trace with "
                        "\"traceEvents\" as torch.profiler or jax.profiler write it");
    if (!jax && !j->torch_cats)
        err_throw(t->err, RG_EPARSE,
                  "this is a Chrome trace with %u events, but neither of PyTorch (no "
                  "categories such as cpu_op or kernel) nor of JAX (no /device: or /host: process)",
                  t->n);
    t->format = jax ? TRACE_JAX : TRACE_TORCH;
    resolve_events(j, jax);
    /* JAX keeps at most one or five million events in this file and does not say so. */
    if (jax && ((t->n >= 950000 && t->n <= 1000100) || (t->n >= 4950000 && t->n <= 5000100)))
        t->capped = true;
    trace_finish(t);
}

void read_json(struct trace *t, struct input *in) {
    struct json *j = arena_new(&t->arena, struct json);
    j->t = t;
    j->in = in;
    run(j);
}
