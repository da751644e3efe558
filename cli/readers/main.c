/* main.c: libridge-report.so, the readers of profiles for libridge.so, which loads it when rg_profile_table is called. It has its own
 * copy of src/base; both are of one build, which the version tells. Tests: tests/cli/abi.sh, tests/cli/install.sh */
#include "report/report.h"

#include <ridge.h>

RG_API const char ridge_report_version[] = RG_VERSION;
RG_API __typeof__(report_profile_table) ridge_report_table;

int ridge_report_table(struct err *e, const char *path, const struct report_pick *pick, char *out,
                       size_t room, size_t *n) {
    return report_profile_table(e, path, pick, out, room, n);
}
