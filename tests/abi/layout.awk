# layout.awk: reads a ridge.h and writes a program that prints the layout of what crosses the ABI: "struct.field offset size",
# "struct size", "constant value". Used by tests/cli/abi.sh on headers of releases and on ours.
{
    gsub(/\/\*[^*]*\*\//, "")
    if (/\/\*/) { sub(/\/\*.*/, ""); text = text " " $0; while ((getline) > 0 && !/\*\//) {} sub(/.*\*\//, "") }
    if (/^ *#/) { while (/\\$/ && (getline) > 0) {} next }
    text = text " " $0
}
function fields(name, body,   n, k, part, m, j, decl, id) {
    while (match(body, /union *\{[^}]*\}/)) body = substr(body, 1, RSTART - 1) "union_" substr(body, RSTART + RLENGTH)
    n = split(body, part, ";")
    for (k = 1; k <= n; k++) {
        if (part[k] ~ /RG_SIZE_/) part[k] = "int size_"
        m = split(part[k], decl, ",")
        for (j = 1; j <= m; j++) if (match(decl[j], /[A-Za-z_][A-Za-z_0-9]*(\[[^]]*\])? *$/)) {
            id = substr(decl[j], RSTART)
            sub(/[\[ ].*/, "", id)
            printf "    printf(\"%s.%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof(((%s *)0)->%s));\n", name, id, name, id, name, id
        }
    }
    printf "    printf(\"%s %%zu\\n\", sizeof(%s));\n", name, name
}
function constants(body,   n, k, part) {
    n = split(body, part, ",")
    for (k = 1; k <= n; k++) if (match(part[k], /RG_[A-Z0-9_]+/))
        printf "    printf(\"%s %%d\\n\", (int)%s);\n", substr(part[k], RSTART, RLENGTH), substr(part[k], RSTART, RLENGTH)
}
END {
    print "#include <ridge.h>\n#include <stdio.h>\nint main(void) {"
    while (match(text, /typedef (struct|enum) rg_[a-z_0-9]+ *\{/)) {
        head = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        split(head, word, /[ {]+/)
        match(text, "\\} *" word[3] " *;")
        if (word[2] == "struct") fields(word[3], substr(text, 1, RSTART - 1))
        else constants(substr(text, 1, RSTART - 1))
    }
    print "    return 0;\n}"
}
