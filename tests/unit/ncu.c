/* ncu.c: the two pages of `ncu --csv`: kernels, durations in any unit, throughput as measured; damaged lines. */
#include "damage.h"

static const char details[] =
    "==PROF== Connected to process 123\n"
    "==PROF== Disconnected\n"
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "
    "Size\",\"Grid Size\","
    "\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"
    "\"0\",\"123\",\"app\",\"host\",\"gemm(float *, \"\"x\"\")\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, "
    "1)\",\"0\",\"9.0\",\"GPU "
    "Speed Of Light Throughput\",\"Duration\",\"usecond\",\"1,250.50\"\n"
    "\"0\",\"123\",\"app\",\"host\",\"gemm(float *, \"\"x\"\")\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, "
    "1)\",\"0\",\"9.0\",\"GPU "
    "Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"20.5\"\n"
    "\"0\",\"123\",\"app\",\"host\",\"gemm(float *, \"\"x\"\")\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, "
    "1)\",\"0\",\"9.0\",\"GPU "
    "Speed Of Light Throughput\",\"Compute (SM) Throughput\",\"%\",\"81.25\"\n"
    "\"0\",\"123\",\"app\",\"host\",\"gemm(float *, \"\"x\"\")\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, "
    "1)\",\"0\",\"9.0\",\"Memory "
    "Workload Analysis\",\"Memory Throughput\",\"Gbyte/second\",\"900\"\n"
    "\"0\",\"123\",\"app\",\"host\",\"gemm(float *, \"\"x\"\")\",\"1\",\"7\",\"(256, 1, 1)\",\"(1,024, 1, "
    "1)\",\"0\",\"9.0\",\"Launch "
    "Statistics\",\"Registers Per Thread\",\"register/thread\",\"64\"\n"
    "\"1\",\"123\",\"app\",\"host\",\"add\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, "
    "1)\",\"0\",\"9.0\",\"x\",\"Duration\",\"nsecond\","
    "\"2500\"\n"
    "\"2\",\"123\",\"app\",\"host\",\"broken line\n"
    "\"3\",\"123\",\"app\",\"host\",\"add\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, "
    "1)\",\"0\",\"9.0\",\"x\",\"Duration\",\"msecond\","
    "\"0.5\"\n";

static const char raw[] =
    "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block "
    "Size\",\"Grid Size\","
    "\"Device\",\"CC\",\"gpu__time_duration.sum\",\"launch__registers_per_thread\","
    "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
    "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"usecond\",\"register/thread\",\"%\"\n"
    "\"0\",\"1\",\"a\",\"h\",\"gemm\",\"1\",\"7\",\"(256, 1, 1)\",\"(64, 1, "
    "1)\",\"0\",\"9.0\",\"10.00\",\"32\",\"50\"\n"
    "\"1\",\"1\",\"a\",\"h\",\"gemm\",\"1\",\"7\",\"(256, 1, 1)\",\"(64, 1, "
    "1)\",\"0\",\"9.0\",\"12.00\",\"32\",\"50\"\n";

static struct trace t;
static struct diag d;

TEST(ncu_both_pages_are_read) {
    read_text(&t, &d, details, sizeof details - 1);
    CHECK_EQ(t.format, TRACE_NCU);
    CHECK_EQ(d.kernel_count, 3);
    CHECK_EQ(t.lost, 1);
    CHECK_EQ(d.wall_ns, 1250500 + 2500 + 500000);
    const struct kernel_row *k = &d.kernels.p[0];
    CHECK_EQ(k->ns, 1250500);
    CHECK_NEAR(k->compute, 0.8125, 1e-9);
    CHECK_NEAR(k->memory, 0.205, 1e-9);
    CHECK_EQ(k->bound, BOUND_COMPUTE);
    CHECK_EQ(d.no_corr_count, 0);
    forget_text(&t, &d);
    read_text(&t, &d, raw, sizeof raw - 1);
    CHECK_EQ(d.kernel_count, 2);
    CHECK_EQ(d.kernels.n, 1);
    CHECK_EQ(d.kernels.p[0].ns, 22000);
    CHECK_NEAR(d.kernels.p[0].roof, 0.5, 1e-9);
    forget_text(&t, &d);
}

TEST(ncu_damaged_output_ends_in_words) { CHECK(read_damaged(details, sizeof details - 1, 0, 2000) > 500); }
