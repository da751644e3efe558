/* rocprof.c: the JSON of rocprofv3: kernels by their symbols, copies by their agents, HIP calls, names behind the records, damage. */
#include "damage.h"

#define AGENTS                                                                                             \
    "\"agents\":[{\"id\":{\"handle\":7},\"type\":1,\"product_name\":\"EPYC\",\"logical_node_type_id\":0}," \
    "{\"id\":{\"handle\":9},\"type\":2,\"cu_count\":304,\"product_name\":\"AMD Instinct MI300X\","         \
    "\"logical_node_type_id\":3,\"mem_banks\":[{\"heap_type\":1,\"size_in_bytes\":1000}]}],"
#define STRINGS                                                                                             \
    "\"strings\":{\"buffer_records\":[{\"kind\":\"NONE\",\"operations\":[]},{\"kind\":\"HIP_RUNTIME_API\"," \
    "\"operations\":[\"hipLaunchKernel\",\"hipDeviceSynchronize\"]}],\"marker_api\":[]},"
#define SYMBOLS                                                                                        \
    "\"kernel_symbols\":[{\"kernel_id\":0,\"formatted_kernel_name\":\"\",\"kernel_name\":\"\"},"       \
    "{\"kernel_id\":4,\"formatted_kernel_name\":\"Cijk_Ailk_Bljk\"},{\"kernel_id\":5,\"kernel_name\":" \
    "\"ncclDevKernel_Generic\"}]"
#define RECORD(id, t0, t1)                                                                               \
    "\"thread_id\":50,\"correlation_id\":{\"internal\":" #id ",\"external\":0},\"start_timestamp\":" #t0 \
    ",\"end_timestamp\":" #t1
#define KERNEL(id, t0, t1, symbol)                                                                 \
    "{\"kind\":11," RECORD(                                                                        \
        id, t0, t1) ",\"dispatch_info\":{\"agent_id\":{\"handle\":9},\"queue_id\":{\"handle\":2}," \
                    "\"kernel_id\":" #symbol                                                       \
                    ",\"group_segment_size\":512,\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":1},"  \
                    "\"grid_size\":{\"x\":1000,\"y\":3,\"z\":1}}}"
#define RECORDS                                                                                              \
    "\"buffer_records\":{\"kernel_dispatch\":[" KERNEL(1, 2000, 3500, 4) ", " KERNEL(                        \
        2, 4000, 4250,                                                                                       \
        5) "," KERNEL(3, 9000, 8000,                                                                         \
                      4) "],\"hsa_api\":[{\"kind\":2," RECORD(9, 1,                                          \
                                                              2) "}],"                                       \
                                                                 "\"hip_api\":[{\"kind\":1,\"operation\":"   \
                                                                 "0," RECORD(                                \
                                                                     1, 1000,                                \
                                                                     1100) "},{\"kind\":1,\"operation\":"    \
                                                                           "1," RECORD(                      \
                                                                               4, 3000,                      \
                                                                               6000) "}],\"memory_"          \
                                                                                     "copy\":[{\"kind\":"    \
                                                                                     "10,\"operation\":"     \
                                                                                     "2," RECORD(            \
                                                                                         5, 5000,            \
                                                                                         5600) ",\"dst_"     \
                                                                                               "agent_id\":" \
                                                                                               "{\"handle\"" \
                                                                                               ":9},\"src_"  \
                                                                                               "agent_id\":" \
                                                                                               "{\"handle\"" \
                                                                                               ":7},"        \
                                                                                               "\"bytes\":"  \
                                                                                               "4096}]}"
#define HEAD "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":50},"

static const char names_first[] = HEAD AGENTS STRINGS SYMBOLS "," RECORDS "}]}";
static const char names_last[] = HEAD AGENTS RECORDS "," STRINGS SYMBOLS "}]}";

static struct trace t;
static struct diag d;

static void check_all(const char *text, size_t n) {
    read_text(&t, &d, text, n);
    CHECK_EQ(t.format, TRACE_ROCPROF);
    CHECK_EQ(t.dropped, 1); /* one ends before it begins */
    CHECK_EQ(d.kernel_count, 2);
    CHECK_EQ(d.kernels.n, 2);
    CHECK_STR(trace_str(&t, d.kernels.p[0].name), "Cijk_Ailk_Bljk");
    CHECK_EQ(d.kernels.p[0].ns, 1500);
    CHECK_STR(d.device_name, "AMD Instinct MI300X");
    const struct trace_kernel_args *a = trace_blob(&t, d.kernels.p[0].args, sizeof *a);
    CHECK(a && a->grid[0] == 4 && a->grid[1] == 3 && a->block[0] == 256); /* 1000 threads: 4 blocks */
    CHECK(d.budget[BUDGET_KERNELS] == 1500 && d.budget[BUDGET_COMM] == 250 &&
          d.budget[BUDGET_EXPOSED] == 600);
    forget_text(&t, &d);
}

TEST(rocprof_kernels_copies_and_calls) {
    check_all(names_first, sizeof names_first - 1);
    check_all(names_last, sizeof names_last - 1);
}

TEST(rocprof_kernels_alone_were_not_launched_early) {
    static const char text[] =
        HEAD AGENTS SYMBOLS ",\"buffer_records\":{\"kernel_dispatch\":[" KERNEL(1, 2000, 3500, 4) "]}}]}";
    bool no_host = false;
    read_text(&t, &d, text, sizeof text - 1);
    for (uint32_t i = 0; i < d.capture.n; i++) {
        CHECK(strcmp(d.capture.p[i].id, "carry_over"));
        no_host |= !strcmp(d.capture.p[i].id, "no_host");
    }
    CHECK(no_host);
    forget_text(&t, &d);
}

TEST(rocprof_damaged_files_end_in_words) {
    CHECK(read_damaged(names_first, sizeof names_first - 1, 30, 3000) > 500);
}

TEST(rocprof_cut_file_says_so) {
    size_t n = (size_t)(strstr(names_first, "\"hsa_api\"") - names_first);
    read_text(&t, &d, names_first, n);
    CHECK(t.truncated);
    CHECK_EQ(d.kernel_count, 2);
    forget_text(&t, &d);
    struct err err = {0};
    CHECK(trace_read_mem(&t, &err, HEAD, sizeof HEAD - 1, 0) == RG_EPARSE);
    CHECK(strstr(err.msg, "rocprofv3") && strstr(err.msg, "ends in the middle"));
}
