/* embed.c: turns files into C arrays, so that the program carries its page with it.
 *
 *     embed OUT.c NAME=FILE ...
 * defines `const char NAME[]` (with a NUL after the bytes) and `const size_t NAME_size` for each. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: embed OUT.c NAME=FILE ...\n"), 2;
    FILE *o = fopen(argv[1], "w");
    if (!o) return perror(argv[1]), 1;
    fprintf(o, "/* made by tools/embed.c; do not edit */\n#include <stddef.h>\n");
    for (int i = 2; i < argc; i++) {
        char *file = strchr(argv[i], '=');
        if (!file) return fprintf(stderr, "embed: %s has no '='\n", argv[i]), 2;
        *file++ = 0;
        FILE *f = fopen(file, "rb");
        if (!f) return perror(file), 1;
        fprintf(o, "extern const char %s[];\nextern const size_t %s_size;\nconst char %s[] = {", argv[i],
                argv[i], argv[i]);
        size_t n = 0;
        for (int c; (c = getc(f)) != EOF; n++) fprintf(o, "%s%d,", n % 24 ? "" : "\n    ", (signed char)c);
        fprintf(o, "\n    0};\nconst size_t %s_size = %zu;\n", argv[i], n);
        fclose(f);
    }
    return fclose(o) ? perror(argv[1]), 1 : 0;
}
