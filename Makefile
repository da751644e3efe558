# Ridge's build: one file, no recursion, no configure step.
#
#   make                      build/ridge, build/examples, build/release/libridge.a; on all cores unless -j says how many
#   make check                everyday tests, in under a minute; make test: all of them
#   make MODE=asan test       another mode; each has its own folder build/$(MODE)
#   make FOLDERS="base ir"    only these folders of src/ and their unit tests, and no command
#   make BUILD=build-mine     everything somewhere else
# Sources are found by wildcard: a new file or folder needs no line here.
MODE    ?= release
BUILD   ?= build
FOLDERS ?= *
OUT     := $(BUILD)/$(MODE)
# gcc, or the first C compiler that the machine has.
ifeq ($(origin CC),default)
CC := $(or $(notdir $(firstword $(foreach c,gcc clang cc,$(shell command -v $(c))))),gcc)
endif
.DEFAULT_GOAL := all
# All cores, unless -jN is given (GNU make prefers what the command line says), another make calls this one, or `clean` must be first.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS))$(filter clean,$(MAKECMDGOALS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
endif
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- flags ---------------------------------------------------------------------------------------
FLAGS_release := -O2 -g
FLAGS_debug   := -O0 -g -DRIDGE_DEBUG_BUILD
FLAGS_asan    := -O1 -g -DRIDGE_DEBUG_BUILD -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
# Fortified, longjmp is a function that ThreadSanitizer does not know: its stack of calls grows until it crashes.
FLAGS_tsan    := -O1 -g -fno-omit-frame-pointer -U_FORTIFY_SOURCE -fsanitize=thread
ifeq ($(FLAGS_$(MODE)),)
$(error MODE=$(MODE): expected release, debug, asan or tsan)
endif
WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wvla -Wimplicit-fallthrough
# A warning is an error where we test (CI sets CI), not on a stranger's newer compiler: make WERROR=1 elsewhere.
WERROR ?= $(CI)
ifneq ($(WERROR),)
WARN   += -Werror
endif
# clang also wants the fields that a table's rows leave out, gcc those of rows without names only.
ifneq ($(findstring clang,$(shell $(CC) --version 2>/dev/null)),)
WARN   += -Wno-missing-field-initializers
endif
CFLAGS ?=
# -ffp-contract=off: a value is rounded where the program says so, not where the compiler sees an FMA.
ALL_CFLAGS := -std=gnu17 -D_GNU_SOURCE $(FLAGS_$(MODE)) $(WARN) -fvisibility=hidden -ffp-contract=off -pthread \
              -Isrc -Iinclude -Itests -I$(BUILD)/gen $(CFLAGS)
LDLIBS := -lz -ldl -lpthread -lm

# ---- what there is -------------------------------------------------------------------------------
LIB_SRC   := $(sort $(wildcard $(foreach f,$(FOLDERS),src/$f/*.c src/$f/*/*.c src/$f/*/*/*.c)))
CLI_SRC   := $(if $(filter *,$(FOLDERS)),$(sort $(wildcard cli/*.c)))
TEST_SRC  := $(sort $(wildcard tests/main.c $(if $(filter *,$(FOLDERS)),tests/*.c) $(foreach f,$(FOLDERS),tests/unit/$f.c tests/unit/$f_*.c $(if $(filter * api,$f),tests/semantics/*.c))))
BENCH_SRC := $(sort $(wildcard bench/*.c))
EXAMPLE_SRC := $(if $(filter *,$(FOLDERS)),$(sort $(wildcard examples/*.c)))
CLI_TESTS := $(if $(CLI_SRC),$(sort $(wildcard tests/cli/*.sh)))

# The version is the header's; the ABI's number changes when a program must be compiled again.
# PREFIX and what follows from it are for `make install`; the library also looks there for its files (src/base/os_child.c).
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
ifneq ($(filter deb test-deb,$(MAKECMDGOALS)),)
PREFIX  := /usr
LIBDIR  := /usr/lib/$(MULTIARCH)
endif
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
STRIP   ?= strip
VERSION := $(shell sed -n 's/^.define RG_VERSION "\(.*\)"/\1/p' include/ridge.h)
ABI     := 0
LIB  := $(OUT)/libridge.a
SO   := $(if $(filter *,$(FOLDERS)),$(OUT)/libridge.so $(OUT)/libridge-report.so)
PARTS := $(OUT)/libridge-parts.a
OBJCOPY ?= objcopy
ifeq ($(origin AR),default)
AR := ar
endif
# For what runs during the build; another than CC where CC is a cross compiler.
HOSTCC ?= $(CC)
TEST := $(OUT)/ridge-test
BIN  := $(if $(CLI_SRC),$(OUT)/ridge)
# In which search runs candidates first; the library looks for it beside itself.
WORKER := $(if $(CLI_SRC),$(OUT)/ridge-worker)
EXAMPLES := $(EXAMPLE_SRC:%.c=$(OUT)/%)
# Programs with a fault each, for tests/cli/planted.sh.
PLANTED_SRC := $(if $(CLI_SRC),$(sort $(wildcard tests/planted/*.c)))
PLANTED := $(PLANTED_SRC:tests/planted/%.c=$(OUT)/planted/%)
# Programs of every kind, for tools/snapshot.
FORMS := $(if $(CLI_SRC),$(OUT)/snapshot/forms)
# The program to which tests/faults/faults.sh does harm.
FAULTS := $(if $(CLI_SRC),$(OUT)/faults/work)
BENCH := $(BENCH_SRC:bench/%.c=$(OUT)/bench/%)
# The programs that bench/table/table.py talks to.
TABLE_SRC := $(sort $(wildcard bench/table/*.c))
TABLE := $(TABLE_SRC:bench/%.c=$(OUT)/bench/%)
# One program of several files. Its hand-written peers get the compiler that is best for them (clang, if there
# is one; a sanitizer's runtime must be that of the rest) and -O3: they are the bar.
GOLDEN_SRC := $(sort $(wildcard bench/golden/*.c))
GOLDEN  := $(if $(GOLDEN_SRC),$(OUT)/bench/golden)
# Programs at random over the public API, likewise of several files.
SWEEP_SRC := $(sort $(wildcard bench/sweep/*.c))
SWEEP   := $(if $(SWEEP_SRC),$(OUT)/bench/sweep)
PEER_CC := $(if $(filter release,$(MODE)),$(or $(shell command -v clang),$(CC)),$(CC))

.PHONY: all lib python reference wheel test-wheel test-python install uninstall deb test-deb examples mnist check test words shape test-math test-qemu test-faults test-cuda-compile test-gpu test-gpu-sanitizer test-opencl test-simgpu test-mutants test-large test-outside snapshot bench bench-gpu bench-sweep bench-parts bench-timed fuzz callsites fmt fmt-check clean help FORCE
all: $(LIB) $(SO) $(BIN) $(WORKER) $(EXAMPLES) $(if $(CLI_SRC),$(if $(filter release,$(MODE)),$(BUILD)/ridge $(BUILD)/examples)) # what `make` builds
lib: $(LIB) $(SO) # libridge.a and libridge.so only
examples: all # the same as all

# A compiler that changed, or another set of flags, must rebuild: the file changes only if its text does.
# The name has the shell's number: two makes may run in one folder.
keep_if_same = mkdir -p $(@D) && printf '%s\n' '$(1)' > $@.$$$$ && \
               { cmp -s $@.$$$$ $@ && rm -f $@.$$$$ || mv -f $@.$$$$ $@; }
$(OUT)/flags: FORCE
	@$(call keep_if_same,$(CC) $(ALL_CFLAGS))
$(OUT)/prefix: FORCE
	@$(call keep_if_same,$(PREFIX) $(LIBDIR) $(MULTIARCH) $(ABI))
$(OUT)/objects: FORCE
	@$(call keep_if_same,$(LIB_OBJ))
$(OUT)/test-objects: FORCE
	@$(call keep_if_same,$(TEST_OBJ))
FORCE:

# What a bare machine lacks, checked once: see tools/setup.
$(BUILD)/setup.ok: tools/setup
	@mkdir -p $(@D)
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh tools/setup && touch $@

# ---- generated code: rewrite rules (tools/rulegen.c over src/rules/*.rules, src/tensor/grad.rules) ----
# The generator runs on the build machine: no sanitizers, no cross compiler.
# Files change only when their text does, so a stamp tells when the generator ran.
RULES   := $(sort $(wildcard src/rules/*.rules $(if $(filter * tensor,$(FOLDERS)),src/tensor/*.rules)))
GEN_SRC :=
ifneq ($(and $(wildcard tools/rulegen.c),$(filter * rules,$(FOLDERS))),)
GEN_SRC  := $(patsubst %,$(BUILD)/gen/rules_%.c,$(shell sed -n 's/^set  *\([a-z0-9_]*\) .*/\1/p' $(RULES)) table)
GEN_TEST := $(addprefix $(BUILD)/gen/,rules_fuzz.c cycle_loop.c cycle_table.c)
TEST_SRC += $(if $(wildcard tests/fuzz/fz.c),$(sort $(wildcard tests/fuzz/*.c)) $(GEN_TEST))
$(BUILD)/host/rulegen: $(wildcard tools/rulegen*.[ch]) src/ir/ir.h src/ir/ops.def src/ir/dtype.def | $(BUILD)/setup.ok
	@mkdir -p $(@D)
	$(HOSTCC) -std=gnu17 -D_GNU_SOURCE -O1 -g $(WARN) -Isrc -o $@.$$$$ $(filter %.c,$^) && mv -f $@.$$$$ $@
$(BUILD)/gen/rules.stamp: $(RULES) tests/fuzz/rules.mutants tests/fuzz/cycle.rules $(BUILD)/host/rulegen
	@mkdir -p $(@D)
	$(BUILD)/host/rulegen -m tests/fuzz/rules.mutants -o $(@D) $(RULES)
	$(BUILD)/host/rulegen -p cycle -o $(@D) tests/fuzz/cycle.rules
	@touch $@
$(GEN_SRC) $(GEN_TEST): $(BUILD)/gen/rules.stamp ;
endif
# ---- generated code: the page of `ridge diagnose` (tools/embed.c over src/report/page.*) ---------
ifneq ($(and $(wildcard src/report/page.html),$(filter * report,$(FOLDERS))),)
GEN_SRC += $(BUILD)/gen/page.c
$(BUILD)/host/embed: tools/embed.c | $(BUILD)/setup.ok
	@mkdir -p $(@D)
	$(HOSTCC) -std=gnu17 -D_GNU_SOURCE -O1 -g $(WARN) -o $@.$$$$ $< && mv -f $@.$$$$ $@
$(BUILD)/gen/page.c: src/report/page.html src/report/page.css src/report/page.js $(BUILD)/host/embed
	@mkdir -p $(@D)
	$(BUILD)/host/embed $@ page_html=src/report/page.html page_css=src/report/page.css page_js=src/report/page.js
endif
# ---- generated code: the public functions as plain symbols (tools/callsites over include/ridge.h) ----
ifneq ($(and $(wildcard src/api/*.c),$(filter * api,$(FOLDERS))),)
GEN_SRC += $(BUILD)/gen/api_plain.c
$(BUILD)/gen/api_plain.c: include/ridge.h tools/callsites
	@mkdir -p $(@D)
	@tools/callsites plain < $< > $@.new && mv -f $@.new $@
endif
# ---- generated code: the Python binding (python/gen.py over include/ridge.h) ------------------------
PYTHON ?= python3
$(BUILD)/gen/py_calls.c: include/ridge.h python/gen.py
	@mkdir -p $(@D)
	@$(PYTHON) python/gen.py c < $< > $@.new && mv -f $@.new $@
# ---- end of generated code -----------------------------------------------------------------------

# ---- objects -------------------------------------------------------------------------------------
# Objects are renamed into place, so that two makes at once do not read each other's half-written files.
LIB_OBJ   := $(LIB_SRC:%.c=$(OUT)/obj/%.o) $(GEN_SRC:$(BUILD)/%.c=$(OUT)/obj/%.o)
CLI_OBJ   := $(CLI_SRC:%.c=$(OUT)/obj/%.o)
TEST_OBJ  := $(TEST_SRC:%.c=$(OUT)/obj/%.o)
BENCH_OBJ := $(BENCH_SRC:%.c=$(OUT)/obj/%.o)
EXAMPLE_OBJ := $(EXAMPLE_SRC:%.c=$(OUT)/obj/%.o)
PLANTED_OBJ := $(PLANTED_SRC:%.c=$(OUT)/obj/%.o)
GOLDEN_OBJ := $(GOLDEN_SRC:%.c=$(OUT)/obj/%.o)
TABLE_OBJ := $(TABLE_SRC:%.c=$(OUT)/obj/%.o)
SWEEP_OBJ := $(SWEEP_SRC:%.c=$(OUT)/obj/%.o)

# Tests are compiled once and run once: less of the optimizer, none of it for tables of programs and rules. What loops over
# every float keeps it all.
ifeq ($(MODE),release)
$(filter-out $(OUT)/obj/tests/math.o $(OUT)/obj/tests/unit/math.o $(OUT)/obj/tests/unit/f8.o,$(TEST_OBJ)): private ALL_CFLAGS += -O1 $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
$(OUT)/obj/tests/unit/outside.o $(OUT)/obj/gen/rules_fuzz.o: private ALL_CFLAGS += -O0
endif

compile = @mkdir -p $(@D) && echo "  CC $<" && \
  $(CC) $(ALL_CFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@.$$$$ $< && mv -f $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }
link = @mkdir -p $(@D) && echo "  LD $@" && \
  $(CC) $(ALL_CFLAGS) -o $@.$$$$ $(filter %.o %.a,$^) $(LDLIBS) && mv -f $@.$$$$ $@ || { rm -f $@.$$$$; exit 1; }

# One set of objects for the archive and the shared library; hidden names cost nothing in it.
$(LIB_OBJ): private ALL_CFLAGS += -fPIC -fno-semantic-interposition
$(OUT)/obj/src/base/os_child.o: private ALL_CFLAGS += -DRIDGE_PREFIX='"$(PREFIX)"' -DRIDGE_LIBDIR='"$(LIBDIR)"' -DRIDGE_MULTIARCH='"$(MULTIARCH)"' -DRIDGE_ABI='"$(ABI)"'
$(OUT)/obj/src/base/os_child.o: $(OUT)/prefix
$(OUT)/obj/%.o: %.c $(OUT)/flags | $(BUILD)/setup.ok $(GEN_SRC)
	$(compile)
$(OUT)/obj/gen/%.o: $(BUILD)/gen/%.c $(OUT)/flags | $(BUILD)/setup.ok
	$(compile)

# What a program links: one object, in which all names but those of ridge.h are local, so that it may have a schedule() of its own.
$(LIB): $(LIB_OBJ) $(OUT)/objects
	@echo "  AR $@"
	@t=$@.$$$$; mkdir -p $$t && $(CC) $(CFLAGS) -nostdlib -r -o $$t/ridge.o $(LIB_OBJ) && \
	  $(OBJCOPY) --localize-hidden $$t/ridge.o && $(AR) rcs $$t/lib.a $$t/ridge.o && mv -f $$t/lib.a $@; \
	  bad=$$?; rm -rf $$t; exit $$bad
# The same as a shared library. Its names are those of src/libridge.map; the number in its soname is that of the ABI (docs/abi.md).
# nodelete: threads that computed leave their event buffers to the library when they end, also after dlclose.
SO_LINK := -shared -Wl,-soname,libridge.so.$(ABI) -Wl,--version-script=src/libridge.map -Wl,-Bsymbolic-functions \
           -Wl,-z,relro -Wl,-z,nodelete
# Sanitizers leave their names to the program.
NO_UNDEFINED := -Wl,-z,defs
SO_LINK += $(if $(filter release debug,$(MODE)),$(NO_UNDEFINED))
# The readers of profiles and traces are a library of their own, which libridge.so loads when rg_profile_table is called.
READER_OBJ := $(filter $(OUT)/obj/src/analyze/% $(OUT)/obj/src/report/% $(OUT)/obj/gen/page.o,$(LIB_OBJ))
CORE_OBJ := $(filter-out $(READER_OBJ),$(LIB_OBJ))
$(OUT)/libridge.so.$(VERSION): $(CORE_OBJ) $(OUT)/objects src/libridge.map
	@echo "  LD $@" && $(CC) $(ALL_CFLAGS) $(SO_LINK) -o $@.$$$$ $(CORE_OBJ) $(LDLIBS) && mv -f $@.$$$$ $@
$(OUT)/obj/cli/readers/main.o: private ALL_CFLAGS += -fPIC
$(OUT)/libridge-report.so: $(OUT)/obj/cli/readers/main.o $(READER_OBJ) $(filter $(addprefix $(OUT)/obj/src/,base/% event/% model/%),$(LIB_OBJ))
	@echo "  LD $@" && $(CC) $(ALL_CFLAGS) -shared -Wl,-z,relro -Wl,-z,nodelete -o $@.$$$$ $^ $(LDLIBS) && mv -f $@.$$$$ $@
$(OUT)/libridge.so.$(ABI): $(OUT)/libridge.so.$(VERSION)
	@ln -sfn $(<F) $@
$(OUT)/libridge.so: $(OUT)/libridge.so.$(ABI)
	@ln -sfn $(<F) $@
# The same for what is ours and calls what is inside: the command, tests, benchmarks.
$(PARTS): $(LIB_OBJ) $(OUT)/objects
	@echo "  AR $@"
	@rm -f $@.$$$$ && $(AR) rcsT $@.$$$$ $(LIB_OBJ) && mv -f $@.$$$$ $@
$(OUT)/ridge: $(CLI_OBJ) $(PARTS)
	$(link)
$(OUT)/ridge-worker: $(OUT)/obj/cli/worker/main.o $(PARTS)
	$(link)
$(BUILD)/ridge: $(OUT)/ridge
	@ln -sfn $(MODE)/ridge $@
$(EXAMPLES): $(OUT)/examples/%: $(OUT)/obj/examples/%.o $(LIB)
	$(link)
$(PLANTED): $(OUT)/planted/%: $(OUT)/obj/tests/planted/%.o $(LIB)
	$(link)
$(FORMS): $(OUT)/obj/tests/snapshot/forms.o $(PARTS)
	$(link)
$(FAULTS): $(OUT)/obj/tests/faults/work.o $(LIB)
	$(link)
$(BUILD)/examples: $(EXAMPLES)
	@ln -sfn $(MODE)/examples $@
$(TEST): $(TEST_OBJ) $(PARTS) | $(WORKER) $(OUT)/fake/libcuda.so $(OUT)/fake/libcupti.so $(OUT)/fake/libcupti_old.so $(OUT)/fake/libnvtx.so $(OUT)/fake/libnvidia-ml.so.1 $(OUT)/fake/libnccl.so.2
	$(link)
# Stands in for NVIDIA's driver in tests of the CUDA device on machines without a GPU.
$(OUT)/fake/libcuda.so: tests/fake/driver.c tests/fake/fake.h $(OUT)/flags
	@mkdir -p $(@D) && echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) -fPIC -shared -o $@.$$$$ $< && mv -f $@.$$$$ $@
# The same for NVIDIA's CUPTI, one that lacks a function, and for a tool that wants ranges.
$(OUT)/fake/libcupti.so $(OUT)/fake/libcupti_old.so: tests/fake/cupti.c
$(OUT)/fake/libnvtx.so: tests/fake/nvtx.c
$(OUT)/fake/libnvidia-ml.so.1: tests/fake/nvml.c
$(OUT)/fake/libnccl.so.2: tests/fake/nccl.c
$(OUT)/fake/libcupti.so $(OUT)/fake/libcupti_old.so $(OUT)/fake/libnvtx.so $(OUT)/fake/libnvidia-ml.so.1 $(OUT)/fake/libnccl.so.2: tests/fake/fake.h $(OUT)/flags
	@mkdir -p $(@D) && echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) $(if $(findstring old,$@),-DOLD) -fPIC -shared -o $@.$$$$ $(filter %.c,$^) && mv -f $@.$$$$ $@
$(BENCH) $(TABLE): $(OUT)/bench/%: $(OUT)/obj/bench/%.o $(PARTS)
	$(link)
PEER_OBJ := $(foreach o,$(GOLDEN_OBJ),$(if $(findstring /peers_,$o),$o))
$(PEER_OBJ): CC := $(PEER_CC)
$(PEER_OBJ): ALL_CFLAGS += $(if $(filter release,$(MODE)),-O3)
$(GOLDEN): $(GOLDEN_OBJ) $(PARTS)
	$(link)
$(SWEEP): $(SWEEP_OBJ) $(PARTS)
	$(link)

# ---- what to do with it --------------------------------------------------------------------------
# The runner takes shell scripts too (-x), so that one line at the end counts everything.
# On aarch64 the leak check of ASan takes seconds per process (see tests/main.c): only where asked for.
RUN_ENV := $(if $(filter aarch64,$(shell uname -m)),ASAN_OPTIONS=$${ASAN_OPTIONS:-detect_leaks=0}) RIDGE_CACHE_DIR=$(CURDIR)/$(OUT)/test-cache RIDGE_CC_JOBS=$${RIDGE_CC_JOBS:-1} CC='$(CC)' RIDGE=$(CURDIR)/$(OUT)/ridge BUILD_DIR=$(CURDIR)/$(OUT)
mnist: $(OUT)/examples/mnist # trains examples/mnist.c on data/mnist; ARGS="--steps 100 --batch 256" and so on
	@$(OUT)/examples/mnist $(ARGS)

# ---- Python: the package ridge (docs/python.md), in $(OUT)/python for tests, as a wheel in $(BUILD)/wheel ------------
PY_OBJ := $(patsubst %.c,$(OUT)/obj/%.o,$(sort $(wildcard python/src/*.c))) $(OUT)/obj/gen/py_calls.o
PY_OUT := $(OUT)/python/ridge
PY_TEXT := $(patsubst python/ridge/%,$(PY_OUT)/%,$(wildcard python/ridge/*.py python/ridge/py.typed))
# Suffix, headers: one extension for all Pythons from 3.11 on; a free-threaded one has no limited API and gets its own.
PY_FACTS := $(shell $(PYTHON) -c 'import os, sys, sysconfig as s; i = s.get_path("include"); print(s.get_config_var("EXT_SUFFIX") if s.get_config_var("Py_GIL_DISABLED") else ".abi3.so", i, "yes" if sys.version_info >= (3, 11) and os.path.exists(i + "/Python.h") else "")' 2>/dev/null)
PY_INCLUDE = $(word 2,$(PY_FACTS))
PY_SO := $(PY_OUT)/_ridge$(or $(word 1,$(PY_FACTS)),.abi3.so)
$(OUT)/python/abi: FORCE
	@$(call keep_if_same,$(PY_SO))
$(PY_OBJ): $(OUT)/python/abi
$(PY_OBJ): private ALL_CFLAGS += -fPIC -Ipython/src -I$(PY_INCLUDE)
$(PY_SO): $(PY_OBJ) $(LIB)
	@mkdir -p $(@D) && echo "  LD $@"
	@$(CC) $(ALL_CFLAGS) -shared -o $@.$$$$ $(PY_OBJ) $(LIB) -Wl,--exclude-libs,ALL $(LDLIBS) && mv -f $@.$$$$ $@
$(PY_OUT)/%: python/ridge/%
	@mkdir -p $(@D) && cp $< $@
$(PY_OUT)/_ridge.pyi: include/ridge.h python/gen.py python/ridge/_methods.py
	@mkdir -p $(@D) && $(PYTHON) python/gen.py stubs < $< > $@
$(PY_OUT)/bin/ridge: $(OUT)/ridge
	@mkdir -p $(@D) && cp $< $@
$(PY_OUT)/ridge-worker: $(OUT)/ridge-worker
	@mkdir -p $(@D) && cp $< $@
$(PY_OUT)/bin/machines/%: share/machines/%
	@mkdir -p $(@D) && cp $< $@
PY_TEXT += $(patsubst share/%,$(PY_OUT)/bin/%,$(wildcard share/machines/*.txt))
# Built for `make test` where it can be; a sanitizer's runtime would have to be Python's too.
PY_HEADERS := $(if $(filter release,$(MODE)),$(word 3,$(PY_FACTS)))
python: $(PY_SO) $(PY_OUT)/_ridge.pyi $(PY_OUT)/bin/ridge $(PY_OUT)/ridge-worker $(PY_TEXT) # the Python package, in build/release/python
reference: $(BUILD)/python-api.md # signatures of the Python package: build/python-api.md
$(BUILD)/python-api.md: $(PY_OUT)/_ridge.pyi python/reference.py $(wildcard python/ridge/*.py)
	@$(PYTHON) python/reference.py $< > $@ && echo $@
wheel: python # build/wheel/ridge-*.whl
	@$(PYTHON) python/backend.py wheel $(BUILD)/wheel
test-wheel: wheel # in fresh virtual environments; PYTHONS="python3.11 python3.13"
	@tests/wheel/run $(BUILD)/wheel/*.whl $(or $(PYTHONS),$(PYTHON))
test-python: python all # against NumPy, and PyTorch where it is installed; PYTHON has them
	@$(RUN_ENV) PYTHONPATH=$(CURDIR)/$(OUT)/python $(PYTHON) python/tests/run.py $(ARGS)

test: all $(TEST) $(BENCH) $(TABLE) $(PLANTED) $(FORMS) $(FAULTS) $(if $(PY_HEADERS),python) # all tests
	@$(RUN_ENV) $(TEST) -x tools/depcheck $(CLI_TESTS:%=-x %)

# ---- install: docs/install.md. DESTDIR=/tmp/stage puts all of it under another root; STRIP= keeps the symbols.
$(OUT)/manual/ridge.fish: $(OUT)/ridge tools/manual
	@echo "  MAN $(@D)" && tools/manual $(OUT)/ridge $(@D)
INSTALL_ENV = OUT='$(OUT)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' LIBDIR='$(LIBDIR)' ABI='$(ABI)' STRIP='$(STRIP)'
install: $(LIB) $(SO) $(BIN) $(WORKER) $(OUT)/manual/ridge.fish # into PREFIX; DESTDIR, LIBDIR, STRIP (docs/install.md)
	@$(INSTALL_ENV) tools/install install
uninstall: $(OUT)/manual/ridge.fish # the same variables
	@$(INSTALL_ENV) tools/install uninstall
deb: $(LIB) $(SO) $(BIN) $(WORKER) $(OUT)/manual/ridge.fish # Debian packages into build/deb
	@rm -f $(BUILD)/deb/*.deb && $(INSTALL_ENV) tools/deb $(CURDIR)/$(BUILD)/deb
test-deb: deb # the packages on a clean Debian in a chroot; root, network, minutes
	@tests/deb/run $(BUILD)/deb

test-qemu: $(TEST) $(WORKER) # AVX2 and SVE of 128, 256 and 512 bits under QEMU's user mode, minutes; ARGS="--sample", ARGS=avx2
	@TEST=$(TEST) OUT=$(BUILD)/qemu tests/qemu/run $(ARGS)

test-faults: all $(FAULTS) # 200 kills, full disks, damaged files; minutes
	@$(RUN_ENV) tests/faults/faults.sh $(ARGS)

# What to run before a commit: how the sources look, and the tests of every folder that take little time (`ridge-test -t` tells).
CHECK_SCRIPTS := $(filter $(addprefix tests/cli/,format.sh paths.sh words.sh limits.sh questions.sh callsites.sh header.sh usage.sh),$(CLI_TESTS))
CHECK_TESTS := affine arena bounds codegen_ diff_ env_ err_ estimate event few_ hash heuristic index_ io_ log_ lower map_ mem_ mma model os_ \
               parse pass pool_ ref_ report_ rewrite_s roofline rule_table semantics_CPU_assign shape_ str_ tensor_ text_ uop_ verify_ vec_
check: all $(TEST) # everyday tests, in under a minute
	@$(RUN_ENV) $(TEST) -x tools/depcheck $(CHECK_SCRIPTS:%=-x %) $(CHECK_TESTS)

words:               # retired words (docs/glossary.md), by folder
	@tools/words --count
shape:               # what is too long, too deep or defined twice
	@tools/shape

test-math: $(TEST)   # every float of every vector function, minutes
	@$(RUN_ENV) $(TEST) -a math_all math_bits

fuzz: $(TEST)        # the long fuzzers
	@$(RUN_ENV) $(TEST) -a fuzz

test-cuda-compile: $(TEST) # what is generated for NVIDIA GPUs compiles; needs NVRTC, no GPU
	@$(RUN_ENV) $(TEST) cuda_compile

# Every test has a time limit of its own and is named when it passes it. Many processes, few threads each.
test-gpu: $(TEST)    # the CUDA device against the oracle; needs a GPU
	@$(RUN_ENV) RIDGE_THREADS=$${RIDGE_THREADS:-4} timeout 500 $(TEST) -v -a cuda_gpu semantics_CUDA

# NVIDIA's checkers on some of these tests: memory out of bounds, threads that race for shared memory. Kernels are started one
# by one (memcheck does not come back from a graph), and of the random configurations a few are. Attention by the first alone:
# the second takes minutes for it.
SANITIZED = cuda_gpu_rows_repeat cuda_gpu_negates cuda_gpu_blocks cuda_gpu_call_scatters cuda_gpu_golden_transpose_add \
            cuda_gpu_golden_scatter_add cuda_gpu_launches_0
SANITIZE = $(RUN_ENV) RIDGE_RECORD=0 LAUNCHES=6 RIDGE_THREADS=$${RIDGE_THREADS:-4} timeout 150 compute-sanitizer --target-processes all --error-exitcode 9
test-gpu-sanitizer: $(TEST) # compute-sanitizer over kernels of every kind; needs a GPU
	@echo "== memcheck"; $(SANITIZE) --tool memcheck $(TEST) -v -a $(SANITIZED) cuda_gpu_attention
	@echo "== racecheck"; $(SANITIZE) --tool racecheck $(TEST) -v -a $(SANITIZED)

bench-gpu: all $(OUT)/bench/gpu  # ours beside cuBLAS on the GPU; ARGS="product" picks rows, BEAM=8 adds what search finds. Writes build/bench/results-gpu.json
	@mkdir -p $(BUILD)/bench && timeout 500 $(OUT)/bench/gpu --json $(BUILD)/bench/results-gpu.json $(ARGS)

test-simgpu: $(TEST) # the simulated GPU on random programs and shapes, minutes; SEED, SEEDS
	@$(RUN_ENV) $(TEST) -a simgpu

test-opencl: $(TEST) # the OpenCL device, on PoCL or what there is; part of `make test` where it is installed
	@$(RUN_ENV) $(TEST) opencl

test-large: $(TEST) # accuracy of sums to 2^28 elements, minutes and 4 GiB; RIDGE_DEVICE=CUDA: there
	@$(TEST) -a -v sums_large sums_many_draws

test-mutants: $(TEST) $(OUT)/test-objects # planted bugs: fuzzers or the tests that they name must find each, minutes
	@tests/mutants/run $(OUT)

# Random programs over every public function against PyTorch (docs/testing.md). PYTHON has torch; DEVICE=REF|CPU|CUDA, SEED, N.
test-outside: $(LIB) $(SO) # random programs against PyTorch (docs/testing.md)
	@$(RUN_ENV) $(PYTHON) tests/outside/run.py --lib $(OUT)/libridge.so --device $(or $(DEVICE),REF) --seed $(or $(SEED),1) --n $(or $(N),1000) $(ARGS)
	@$(RUN_ENV) $(PYTHON) tests/outside/networks.py --lib $(OUT)/libridge.so --device $(or $(DEVICE),REF)

# All that is generated and planned, as text; before and after a change that must change no kernel: tools/snapshot --compare BEFORE AFTER
snapshot: all $(FORMS) $(OUT)/fake/libcuda.so # into DIR, build/snapshot
	@BUILD_DIR=$(OUT) tools/snapshot $(or $(DIR),$(BUILD)/snapshot)

# One table: ours beside OpenBLAS, PyTorch and tinygrad, which the script gets into build/bench/venv. ROWS="sgemm,softmax" picks rows.
bench: all $(TABLE) $(SWEEP) # ours beside OpenBLAS, PyTorch and tinygrad; ROWS="sgemm,softmax"
	@python3 bench/table/table.py --build $(OUT) --out $(BUILD)/bench $(if $(ROWS),--rows '$(ROWS)') $(ARGS)
	@$(if $(ROWS),,$(OUT)/bench/sweep --seconds 60 --n 100000 --json $(BUILD)/bench/sweep.json)

bench-sweep: all $(SWEEP)  # programs at random over the public API: results, share of the least possible time; ARGS="--n 500 --seed 7 --peer python3", `--help`
	@$(OUT)/bench/sweep $(ARGS)

bench-parts: all $(BENCH) $(GOLDEN)  # the single programs under bench/; ARGS go to each of them
	@for b in $(BENCH) $(GOLDEN); do echo "== $${b##*/}"; $$b $(ARGS) || exit 1; done

bench-timed: all $(PLANTED) # what `make test` can only count, against the clock of a quiet machine
	@for t in bench/timed/*.sh; do echo "== $$t"; $(RUN_ENV) $$t || exit 1; done

FMT_FILES = $(shell find include src cli tests bench tools examples python -name '*.[ch]')
callsites:           # include/ridge_calls.h from ridge.h, and new names into tests/abi/symbols, after a prototype changed
	tools/callsites header < include/ridge.h > include/ridge_calls.h.new && mv -f include/ridge_calls.h.new include/ridge_calls.h
	@tools/callsites symbols < include/ridge.h | LC_ALL=C sort -u -o tests/abi/symbols - tests/abi/symbols
fmt: # clang-format, in place
	@clang-format -i $(FMT_FILES)
fmt-check: # what clang-format would change
	@tests/cli/format.sh

clean: # removes BUILD
	rm -rf $(BUILD)

help: # this text
	@sed -n '2,8s/^# \{0,1\}//p' Makefile
	@awk -F ' *# *' '/^[a-z][a-z-]*:.*#/ { sub(/:.*/, "", $$1); printf "  %-20s %s\n", $$1, $$2 }' Makefile

-include $(LIB_OBJ:.o=.d) $(OUT)/obj/tests/snapshot/forms.d $(CLI_OBJ:.o=.d) $(OUT)/obj/cli/worker/main.d $(OUT)/obj/cli/readers/main.d $(TEST_OBJ:.o=.d) $(BENCH_OBJ:.o=.d) $(EXAMPLE_OBJ:.o=.d) $(PLANTED_OBJ:.o=.d) $(GOLDEN_OBJ:.o=.d) $(TABLE_OBJ:.o=.d) $(SWEEP_OBJ:.o=.d) $(PY_OBJ:.o=.d)
