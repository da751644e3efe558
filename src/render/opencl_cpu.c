/* opencl_cpu.c: kernels for an OpenCL device that is a CPU: the C of c.c, called by an OpenCL entry.
 *
 * Drivers of CPUs compile with clang, which takes GNU C's vectors in OpenCL C too, and a CPU has one flat address space: a
 * pointer without a qualifier (OpenCL 1.2: private memory) reaches global memory if the address is passed as an integer. So
 * schedule and text are those of the CPU device. A work-item runs a contiguous part of the grid; parameters are those of
 * render_opencl.
 * Tests: tests/unit/opencl.c and render.c (opencl_cpu_*) */
#include "render/internal.h"
#include "render/render.h"

void render_opencl_cpu_preamble(struct str *s, const char *const *text, uint32_t n) {
    str_add(s, "#pragma OPENCL FP_CONTRACT OFF\n"
               "#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n"
               "#ifdef cl_khr_fp16\n#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#endif\n");
    if (text)
        render_c_preamble_for(s, text, n);
    else
        render_c_preamble(s);
}

void render_opencl_cpu(struct str *o, struct ir *ir, const struct linear *lin) {
    const char *actual = render_body(o, ir, lin);
    str_printf(o, "__kernel void %s(", lin->name);
    for (uint32_t i = 0; i < lin->nbuf; i++) str_printf(o, "__global char *p%u, ", i);
    for (uint32_t i = 0; i < lin->nbuf; i++) str_printf(o, "u32 o%u, ", i);
    for (uint32_t i = 0; i < lin->nvar; i++) str_printf(o, "i64 q%u, ", i);
    str_add(o, "u64 n, __global char *areas, u64 stride) {\n  void *const buf[] = {");
    for (uint32_t i = 0; i < lin->nbuf; i++) str_printf(o, "(void *)(u64)(p%u + (u64)o%u * 8), ", i, i);
    str_add(o, "0};\n  const i64 var[] = {");
    for (uint32_t i = 0; i < lin->nvar; i++) str_printf(o, "q%u, ", i);
    str_add(o, "0};\n  const u64 i = get_global_id(0), k = get_global_size(0);\n"
               "  void *const scratch = (void *)(u64)(areas + i * stride);\n");
    str_printf(o, "  %s_body(buf, var, (u32)(n * i / k), (u32)(n * (i + 1) / k)%s);\n}\n", lin->name, actual);
}
