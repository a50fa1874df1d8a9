/* Shell scripts taken apart without being run: which commands of branches, loops and functions
 * count, what is computed, and what is said where only running a script would tell. What each
 * script gives is what bash gives it, tried with `echo` in the place of the program. */
#include <criterion/criterion.h>
#include <string.h>

#include "meshsim/megatron.h"

typedef struct fixture {
    ms_arena arena;
    ms_buffer messages, list, notes;
    ms_diag diag;
    ms_megatron_arguments arguments;
} fixture;

static void keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static void start(fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_buffer_init(&f->list);
    ms_buffer_init(&f->notes);
    ms_diag_init(&f->diag, keep, &f->messages);
    ms_megatron_arguments_init(&f->arguments);
}

static void end(fixture *f) {
    ms_megatron_arguments_release(&f->arguments);
    ms_buffer_release(&f->notes);
    ms_buffer_release(&f->list);
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

static void list_arguments(fixture *f) {
    for (size_t i = 0; i < f->arguments.items.count; i++) {
        const ms_megatron_argument *a = &MS_AT(&f->arguments.items, ms_megatron_argument, i);
        ms_buffer_printf(&f->list, "%s%s%s ", a->name, a->value[0] == '\0' ? "" : "=", a->value);
    }
}

/* Read a script, with what is defined, one word each, up to NULL. */
static ms_status read_script(fixture *f, const char *script, const char *const *defines) {
    const char *items[4];
    ms_words words = {.items = items};
    while (defines != NULL && defines[words.count] != NULL) {
        items[words.count] = defines[words.count];
        words.count++;
    }
    const ms_text text = {"s", script, strlen(script)};
    ms_status status = ms_megatron_read(&text, 1, &words, &f->arena, &f->diag, &f->arguments);
    list_arguments(f);
    for (size_t i = 0; i < f->arguments.notes.count; i++) {
        const ms_megatron_note *n = &MS_AT(&f->arguments.notes, ms_megatron_note, i);
        ms_buffer_printf(&f->notes, "%d: %s: %s, %s\n", n->mark.line, n->what,
                         n->took == NULL ? "left out" : n->took, n->why);
    }
    return status;
}

/* What a script gives, and what is said of it. */
typedef struct script_row {
    const char *script, *list, *notes;
    const char *const defines[4];
} script_row;

static void expect_all(const script_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fixture f;
        start(&f);
        const script_row *row = &rows[i];
        cr_assert_eq(read_script(&f, row->script, row->defines), MS_OK, "%s\n%s", row->script,
                     ms_buffer_text(&f.messages));
        cr_assert_str_eq(ms_buffer_text(&f.list), row->list, "%s\n%s", row->script,
                         ms_buffer_text(&f.list));
        cr_assert_str_eq(ms_buffer_text(&f.notes), row->notes, "%s\n%s", row->script,
                         ms_buffer_text(&f.notes));
        end(&f);
    }
}
#define EXPECT_ALL(rows) expect_all(rows, sizeof(rows) / sizeof(rows)[0])

#define RUN "\npython p.py --num-layers $L\n"

Test(shell, branches_are_followed_where_the_script_decides_them) {
    static const script_row ROWS[] = {
        {.script = "S=b\nif [ $S = a ]; then L=1; elif [ \"$S\" == b ]; then L=2; else L=3; fi" RUN,
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "S=c\nif [[ $S == a* ]]\nthen\n  L=1\nelse\n  L=3\nfi" RUN,
         .list = "--num-layers=3 ",
         .notes = ""},
        {.script = "N=4\nif [[ $N -gt 3 && -n \"$N\" ]]; then L=1; else L=2; fi" RUN,
         .list = "--num-layers=1 ",
         .notes = ""},
        {.script = "N=4\nif [ $N -le 3 -o ! -z x ]; then L=1; else L=2; fi" RUN,
         .list = "--num-layers=1 ",
         .notes = ""},
        {.script = "N=4\nif ! [ $N -eq 4 ] || (( N > 4 )); then L=1; else L=2; fi" RUN,
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "L=1\nif [ a = b ]; then\n  if [ $X = 1 ]; then L=2; fi\n  L=3\nfi" RUN,
         .list = "--num-layers=1 ",
         .notes = ""},
        {.script =
             "S=7b\ncase ${S} in\n  1b|2b) L=1 ;;\n  7*)\n    L=7\n    ;;\n  *) L=9 ;;\nesac" RUN,
         .list = "--num-layers=7 ",
         .notes = ""},
        {.script = "S=x\ncase \"$S\" in (a) L=1;; *) L=9;; esac" RUN,
         .list = "--num-layers=9 ",
         .notes = ""},
        {.script =
             "A=1\n[ $A = 1 ] && L=2 || L=3\n[ $A = 2 ] && L=4\n[ $A = 1 ] || exit 1\nmkdir x "
             "|| exit 1" RUN,
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "L=1\nif true; then :; else L=2; fi; { L=$((L + 1)); } > log" RUN,
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "L=3; python p.py --num-layers $L\nexit 0\nL=4" RUN,
         .list = "--num-layers=3 ",
         .notes = ""},
        {.script = "if [ 1 = 2 ]; then O=--bf16; fi\npython p.py --num-layers 2 $O ${O}\n",
         .list = "--num-layers=2 ",
         .notes = ""},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, what_a_script_leaves_open_is_said) {
    static const script_row ROWS[] = {
        {.script = "if [ \"$1\" = a ]; then\n  L=1\n  M=1\nelse\n  L=2\nfi" RUN,
         .list = "--num-layers=1 ",
         .notes = "1: if [ \"$1\" = a ]: lines 2 to 3, 1 is not set here (--define 1=VALUE)\n"},
        {.script = "if [ \"$1\" = a ]; then\n  L=1\n  M=1\nelse\n  L=2\nfi" RUN,
         .list = "--num-layers=2 ",
         .notes = "",
         .defines = {"1=b"}},
        {.script = "S=$1\ncase $S in a) L=1;; b) L=2;; esac" RUN,
         .list = "--num-layers=1 ",
         .notes = "2: case $S in a) L=1;; b) L=2;; esac: line 2, 1 is not set here (--define "
                  "1=VALUE)\n"},
        {.script = "L=1\nif [ -z \"$N\" ]; then L=2; fi" RUN,
         .list = "--num-layers=2 ",
         .notes = "2: if [ -z \"$N\" ]: line 2, N is not set here (--define N=VALUE)\n"},
        {.script = "L=1\nif [ -z \"$N\" ]; then L=2; fi" RUN,
         .list = "--num-layers=1 ",
         .notes = "",
         .defines = {"N=3"}},
        {.script = "L=1\nif nvidia-smi | grep -q H100; then L=2; fi" RUN,
         .list = "--num-layers=2 ",
         .notes = "2: if nvidia-smi | grep -q H100: line 2, only running the script would tell\n"},
        {.script = "L=1\nwhile read x; do L=2; done < f" RUN,
         .list = "--num-layers=1 ",
         .notes = "2: while read x: left out, only running the script would tell\n"},
        {.script = "if [ -z \"$N\" ]; then echo \"set N\"; exit 1; fi\nL=$N" RUN,
         .list = "--num-layers=$N ",
         .notes = ""},
        {.script =
             "usage() { echo u; exit 1; }\n[ $# -lt 1 ] && usage\ncase $2 in a) L=1;; *) usage;; "
             "esac" RUN,
         .list = "--num-layers=1 ",
         .notes = "3: case $2 in a) L=1;; *) usage;; esac: line 3, 2 is not set here (--define "
                  "2=VALUE)\n"},
        {.script = "source env.sh\nL=2" RUN,
         .list = "--num-layers=2 ",
         .notes = "1: source env.sh: left out, another file is not read unless it is given, "
                  "too\n"},
        {.script = "L=$(nproc)" RUN, .list = "--num-layers=6 ", .notes = "", .defines = {"L=6"}},
        {.script = "L=2" RUN, .list = "--num-layers=2 ", .notes = "", .defines = {"L=6"}},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, functions_are_read_where_they_are_called) {
    static const script_row ROWS[] = {
        {.script = "f() {\n  L=$1\n}\ng() { L=9; }\nf 4 5" RUN,
         .list = "--num-layers=4 ",
         .notes = ""},
        {.script = "function f {\n  [ $# -eq 2 ] && L=$2\n  return\n  L=8\n}\nf 4 5" RUN,
         .list = "--num-layers=5 ",
         .notes = ""},
        {.script =
             "f() { A+=(--bf16); }\nmain() { f; f; python p.py --num-layers 2 \"${A[@]}\" $@; "
             "}\nmain --swiglu\n",
         .list = "--num-layers=2 --bf16 --bf16 --swiglu ",
         .notes = ""},
        {.script = "f() { f; }\nf\nL=1" RUN, .list = "--num-layers=1 ", .notes = ""},
        {.script = "f() { shift; L=$1; }\nf 4 5" RUN, .list = "--num-layers=5 ", .notes = ""},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, loops_are_read_once_or_as_often_as_the_script_says) {
    static const script_row ROWS[] = {
        {.script = "for L in 4 8; do python p.py --num-layers $L; done\n",
         .list = "--num-layers=4 ",
         .notes = "1: for L in 4 8: L = 4, a loop is read once, for its first value\n"},
        {.script = "for L in 4; do :; done" RUN, .list = "--num-layers=4 ", .notes = ""},
        {.script = "L=1\nfor x in $NOTHING; do\n L=2\ndone" RUN,
         .list = "--num-layers=1 ",
         .notes = "2: for x in $NOTHING: nothing, NOTHING is not set here (--define "
                  "NOTHING=VALUE)\n"},
        {.script = "L=1\nfor x in $NOTHING; do\n L=2\ndone" RUN,
         .list = "--num-layers=2 ",
         .notes = "",
         .defines = {"NOTHING=a"}},
        {.script = "L=1; E=\nfor x in $E; do L=2; done" RUN,
         .list = "--num-layers=1 ",
         .notes = ""},
        {.script = "L=1; E=\nfor x in $E 3; do L=$x; done" RUN,
         .list = "--num-layers=3 ",
         .notes = ""},
        {.script = "L=1\nwhile [ $L -lt 5 ]; do L=$((L*2)); done" RUN,
         .list = "--num-layers=8 ",
         .notes = ""},
        {.script = "L=1\nuntil [ $L -ge 5 ]; do L=$((L+3)); [ $L = 4 ] && break; done" RUN,
         .list = "--num-layers=4 ",
         .notes = ""},
        {.script = "while true; do python p.py --num-layers 2; sleep 1; done\n",
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script =
             "while [ $# -gt 0 ]; do case $1 in --l) L=$2; shift 2;; *) shift;; esac; done" RUN,
         .list = "--num-layers=6 ",
         .notes = "",
         .defines = {"1=--l", "2=6"}},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, expansions_are_those_of_a_shell) {
    static const script_row ROWS[] = {
        {.script = "E=\nL=${E:-3}" RUN, .list = "--num-layers=3 ", .notes = ""},
        {.script = "E=\nL=1${E-3}" RUN, .list = "--num-layers=1 ", .notes = ""},
        {.script = ": ${L:=5}" RUN, .list = "--num-layers=5 ", .notes = ""},
        {.script = "F=1\npython p.py --num-layers 1 ${F:+--bf16 --swiglu} ${G:+--fp16}\n",
         .list = "--num-layers=1 --bf16 --swiglu ",
         .notes = ""},
        {.script = "A=(3 5 7)\nL=${A[1]}${#A[@]}" RUN, .list = "--num-layers=53 ", .notes = ""},
        {.script = "A=(3 5 7)\nL=${A}" RUN, .list = "--num-layers=3 ", .notes = ""},
        {.script = "W=Adam\npython p.py --optimizer ${W,,} --split ${W^^}\n",
         .list = "--optimizer=adam --split=ADAM ",
         .notes = ""},
        {.script = "P=a/b\nL=${P##*/}" RUN, .list = "--num-layers=b ", .notes = ""},
        {.script = "L=${P##*/}" RUN, .list = "--num-layers=${P##*/} ", .notes = ""},
        {.script = "cat <<EOT > ds.json\n{ \"if\": 1 }\npython q.py --num-layers 1 --bf16 "
                   "--swiglu\nEOT\nL=2" RUN,
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "L=2\nsbatch <<'EOT'\n#SBATCH -N 4\npython p.py --num-layers $L\nEOT\n",
         .list = "launcher --nnodes=4 --num-layers=2 ",
         .notes = ""},
        {.script = "#SBATCH --nodes=4 # four\n#SBATCH --gres=gpu:h100:8\n#SBATCH "
                   "--ntasks-per-node 1\nL=$((SLURM_NNODES * SLURM_GPUS_ON_NODE))" RUN,
         .list = "launcher --nnodes=4 launcher --ntasks-per-node=1 --num-layers=32 ",
         .notes = ""},
        {.script = "#SBATCH --nodes=4\nL=$SLURM_NNODES" RUN,
         .list = "launcher --nnodes=2 --num-layers=2 ",
         .notes = "",
         .defines = {"SLURM_NNODES=2"}},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, commands_in_variables_end_where_a_shell_ends_them) {
    static const script_row ROWS[] = {
        {.script = "R=\"python p.py --num-layers 2\"\nR=\"$R | tee log\"\necho $R\neval $R\n",
         .list = "--num-layers=2 ",
         .notes = ""},
        {.script = "srun -N 2 sh -c \"cd x; A=1 python p.py --a $(head -n 1 f) --num-layers 2 "
                   "--split '1,2' 2>&1 | tee --x\"\n",
         .list = "launcher --nnodes=2 --a=$(head -n 1 f) --num-layers=2 --split=1,2 ",
         .notes = ""},
    };
    EXPECT_ALL(ROWS);
}

/* Lines that set L, and what bash makes of it; "$..." where only running them would tell. */
static void expect_values(const char *const rows[][2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        fixture f;
        start(&f);
        const char *script = ms_arena_printf(&f.arena, "%s" RUN, rows[i][0]);
        cr_assert_eq(read_script(&f, script, NULL), MS_OK, "%s: %s", rows[i][0],
                     ms_buffer_text(&f.messages));
        cr_assert_str_eq(ms_buffer_text(&f.list),
                         ms_arena_printf(&f.arena, "--num-layers=%s ", rows[i][1]), "%s",
                         rows[i][0]);
        end(&f);
    }
}
#define EXPECT_VALUES(rows) expect_values(rows, sizeof(rows) / sizeof(rows)[0])

Test(shell, texts_are_cut_and_replaced) {
    static const char *const ROWS[][2] = {
        {"F=/a/llama-7b.sh; N=${F##*/}; L=${N%.sh}", "llama-7b"},
        {"S=a-b-32; L=${S##*-}", "32"},
        {"S=a-b-32; L=${S#*-}", "b-32"},
        {"S=a-b-32; L=${S%-*}", "a-b"},
        {"S=a-b-32; L=${S%%-*}", "a"},
        {"S=32b; L=${S%x}", "32b"},
        {"S=3_2_; L=${S/_/}", "32_"},
        {"S=3_2_; L=${S//_/}", "32"},
        {"S=axb; L=${S//[a-b]/3}", "3x3"},
        {"S=x2; L=${S/#x/3}", "32"},
        {"S=3x; L=${S/%x/2}", "32"},
        {"S=aab; L=${S/a*/7}", "7"},
        {"S=12345; L=${S:1:2}", "23"},
        {"S=12345; L=${S:3}", "45"},
        {"S=12345; L=${S: -2}", "45"},
        {"S=12345; N=1; L=${S:$N:${#S}-3}", "23"},
        {"S=12345; L=${S:0:-1}", "1234"},
        {"A=(1 2 3 4); B=(\"${A[@]:1:2}\"); L=${B[1]}", "3"},
    };
    EXPECT_VALUES(ROWS);
}

Test(shell, what_commands_print_is_put_in_where_that_is_known) {
    static const char *const ROWS[][2] = {
        {"A=8; B=4; L=$(expr $A \\* $B)", "32"},
        {"A=8; B=4; L=`expr $A + $B`", "12"},
        {"A=8; L=$[A*4]", "32"},
        {"A=32; L=$(echo $A)", "32"},
        {"L=$(( $(echo 4) * 8 ))", "32"},
        {"L=$(printf \"%d-%s\" 3 b)", "3-b"},
        {"L=$(basename /a/32.sh .sh)", "32"},
        {"L=$(basename $(dirname /a/7b/x))", "7b"},
        {"for L in $(seq 3 5); do break; done", "3"},
        {"f() { local x=$1; echo $((x * 4)); }; L=$(f 8)", "32"},
        {"x=1; f() { x=2; echo 3; }; y=$(f); L=$x", "1"},
        {"L=1; (L=7)", "1"},
    };
    static const char *const OPEN[] = {"L=$(echo 4 | wc -c)", "L=$(echo $UNSET)", "L=$(nproc)",
                                       "L=$(expr 8 : 3)", "f() { nproc; }; L=$(f)"};
    EXPECT_VALUES(ROWS);
    for (size_t i = 0; i < sizeof OPEN / sizeof OPEN[0]; i++) {
        fixture f;
        start(&f);
        const char *script = ms_arena_printf(&f.arena, "%s\npython p.py --split \"$L\"\n", OPEN[i]);
        cr_assert_eq(read_script(&f, script, NULL), MS_OK);
        cr_assert_not_null(strstr(ms_buffer_text(&f.list), "--split=$("), "%s: %s", OPEN[i],
                           ms_buffer_text(&f.list));
        end(&f);
    }
}

Test(shell, variables_are_set_in_other_ways_than_by_assignments) {
    static const char *const ROWS[][2] = {
        {"A=8; let L=A*4", "32"},
        {"A=8; let \"L = A * 4\" B=1", "32"},
        {"L=1; ((L += 31))", "32"},
        {"L=1; ((L++))", "2"},
        {"A=8; (( L = A > 3 ? 7 : 8 ))", "7"},
        {"A=(1 32); L=${A[-1]}", "32"},
        {"A=(1 2 32); i=2; L=${A[$i]}${A[i]}", "3232"},
        {"A=(1 2); A[1]=32; A[2]=4; L=${A[1]}${A[2]}${#A[@]}", "3243"},
        {"declare -A M; M[a]=32; k=a; L=${M[$k]}", "32"},
        {"declare -A M=([a]=32 [b]=2); L=${M[b]}${M[a]}", "232"},
        {"V=L0; L0=32; L=${!V}", "32"},
        {"MODEL=7b; declare L_7b=32; V=L_$MODEL; L=${!V}", "32"},
        {"read -r A L <<< \"1 32 \"", "32"},
        {"IFS=, read -r A L <<< \"1,32\"", "32"},
        {"IFS=',' read -ra A <<< \"0,1,2\"; L=${#A[@]}", "3"},
        {"printf -v L \"%d\" 32", "32"},
        {"set -- 5 32; L=$2$#", "322"},
        {"set -- --l 32; while [[ $# -gt 0 ]]; do case $1 in --l) L=$2; shift 2;; esac; done",
         "32"},
        {"L=3; unset L; L=${L:-8}", "8"},
        {"L0=32; eval \"L=\\$L0\"", "32"},
        {"L=$'32'", "32"},
        {"for ((i = 3; i < 5; i++)); do L=$((i + 5)); done", "8"},
    };
    EXPECT_VALUES(ROWS);
}

Test(shell, eval_reads_its_words_again) {
    static const script_row ROWS[] = {
        {.script = "A=\"--moe-layer-freq '([0]*3+[1]*5)' --split \\\"9, 1\\\"\"\nR=\"python p.py "
                   "$A --num-layers 2 |& tee log\"\neval $R\n",
         .list = "--moe-layer-freq=([0]*3+[1]*5) --split=9, 1 --num-layers=2 ",
         .notes = ""},
        {.script = "B=4\nR='python p.py --num-layers $B'\nB=5\neval \"$R\"\n",
         .list = "--num-layers=5 ",
         .notes = ""},
        {.script = "eval 'if [ 1 = 1 ]; then L=2; fi'" RUN, .list = "--num-layers=2 ", .notes = ""},
    };
    EXPECT_ALL(ROWS);
}

Test(shell, what_is_empty_or_not_set_is_tested_as_in_bash) {
    static const char *const ROWS[][2] = {
        {"X=; if [ -n $X ]; then L=1; else L=2; fi", "1"},
        {"X=; if [ -n \"$X\" ]; then L=1; else L=2; fi", "2"},
        {"X=; if [[ -n $X ]]; then L=1; else L=2; fi", "2"},
        {"X=; if [ $X ]; then L=1; else L=2; fi", "2"},
        {"X=; if [ -z $X ]; then L=1; else L=2; fi", "1"},
        {"X=1; if [[ -v X ]]; then L=1; else L=2; fi", "1"},
        {"X=1; unset X; if [ -v X ]; then L=1; else L=2; fi", "2"},
    };
    EXPECT_VALUES(ROWS);
}

Test(shell, sums_are_computed) {
    static const struct {
        const char *sum, *value;
    } ROWS[] = {
        {"1 + 2 * 3", "7"},
        {"(1 + 2) * 3", "9"},
        {"7 / 2 * 2 + 7 % 4", "9"},
        {"2 ** 3 ** 2", "512"},
        {"-7 / 2", "-3"},
        {"- 2 ** 2", "4"}, /* the sign binds closer, as in bash */
        {"N*$N + ${N}", "20"},
        {"${M:-3} * N", "12"},
        {"N > 3 && N != 5 ? 10 : 20", "10"},
        {"N == 3 || N <= 2 ? 10 : 1 ? 2 : 3", "2"},
        {"1 || 1 / 0", "1"},
        {"0x10 + 010", "24"},
        {"(-1) ** 1000000001", "-1"},
        {"!N + !0", "1"},
        {"9223372036854775807 - 1", "9223372036854775806"},
        {"N + UNSET", "$((N + UNSET))"},
        {"N << 2", "16"},
        {"1 << 2 + 1", "8"},
        {"0xff & 0x0f ^ 1 | 32", "46"},
        {"~0 + 33", "32"},
        {"16#ff", "255"},
        {"N++ + N", "9"},
        {"N += 2, N * 2", "12"},
        {"N > 3 ? (M = 7) : (M = 8)", "7"},
        {"1 +", "$((1 +))"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        start(&f);
        const char *script =
            ms_arena_printf(&f.arena, "N=4\npython p.py --split \"$((%s))\"\n", ROWS[i].sum);
        cr_assert_eq(read_script(&f, script, NULL), MS_OK, "%s: %s", ROWS[i].sum,
                     ms_buffer_text(&f.messages));
        cr_assert_str_eq(ms_buffer_text(&f.list),
                         ms_arena_printf(&f.arena, "--split=%s ", ROWS[i].value));
        end(&f);
    }
}

Test(shell, faults_have_their_place) {
    static const struct {
        const char *script, *message;
        const char *const defines[2];
    } ROWS[] = {
        {"A=0\nL=$((8 / A))" RUN, "s:2:3: error: division by zero in '8 / A'", {NULL}},
        {"L=$((8 % 0))" RUN, "s:1:3: error: division by zero", {NULL}},
        {"L=$((9223372036854775807 + 1))" RUN, "expected numbers of at most 64 bits", {NULL}},
        {"L=$((3 ** 41))" RUN, "expected numbers of at most 64 bits", {NULL}},
        {"L=$((99999999999999999999))" RUN, "expected numbers of at most 64 bits", {NULL}},
        {"L=$((1 << 63))" RUN, "expected a shift of 0 to 62 bits", {NULL}},
        {"L=$((2 ** -1))" RUN, "expected an exponent of 0 or more", {NULL}},
        {"L=1" RUN, "expected NAME=VALUE of a variable, or of a parameter", {"0=a"}},
        {"L=1" RUN, "expected NAME=VALUE of a variable, or of a parameter", {"a"}},
        {"L=1" RUN, "expected NAME=VALUE of a variable, or of a parameter", {"9999=a"}},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        fixture f;
        start(&f);
        cr_assert_eq(read_script(&f, ROWS[i].script, ROWS[i].defines), MS_E_INPUT, "%s",
                     ROWS[i].script);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), ROWS[i].message), "%s: %s",
                           ROWS[i].script, ms_buffer_text(&f.messages));
        end(&f);
    }
}

/* Files that belong together are read where one names another, in whatever order they are given. */
Test(shell, files_are_read_where_another_names_them) {
    static const char RUNS[] = "PP=2\nN=8\n. `pwd`/config.sh\n. ./submit.sh\nexit 0\n";
    static const char CONFIG[] = "export P=\"--num-layers $PP\"\n";
    static const char SUBMIT[] = "sbatch -p x --nodes=${N} --export=P job.sh 3\nexit 0\n";
    static const char JOB[] =
        "#SBATCH --ntasks-per-node=8\nsrun -l sh -c \"python p.py $P --split $1\"\n";
    const ms_text texts[2][4] = {{{"/a/job.sh", JOB, sizeof JOB - 1},
                                  {"runs.sh", RUNS, sizeof RUNS - 1},
                                  {"submit.sh", SUBMIT, sizeof SUBMIT - 1},
                                  {"config.sh", CONFIG, sizeof CONFIG - 1}},
                                 {{"runs.sh", RUNS, sizeof RUNS - 1},
                                  {"config.sh", CONFIG, sizeof CONFIG - 1},
                                  {"submit.sh", SUBMIT, sizeof SUBMIT - 1},
                                  {"job.sh", JOB, sizeof JOB - 1}}};
    fixture f;
    start(&f);
    cr_assert_eq(ms_megatron_read(texts[1], 4, NULL, &f.arena, &f.diag, &f.arguments), MS_OK);
    list_arguments(&f);
    cr_assert_str_eq(ms_buffer_text(&f.list), "launcher --nnodes=8 launcher --ntasks-per-node=8 "
                                              "--num-layers=2 --split=3 ");
    cr_assert_eq(f.arguments.notes.count, 0U);
    end(&f);
    start(&f);
    cr_assert_eq(ms_megatron_read(texts[0], 4, NULL, &f.arena, &f.diag, &f.arguments), MS_OK);
    list_arguments(&f);
    cr_assert_str_eq(ms_buffer_text(&f.list),
                     "launcher --ntasks-per-node=8 launcher --nnodes=8 launcher "
                     "--ntasks-per-node=8 --num-layers=2 --split=3 ");
    end(&f);
}

/* What calls itself, or holds itself, comes to an end. */
Test(shell, scripts_without_an_end_are_bounded) {
    fixture f;
    start(&f);
    ms_buffer text;
    ms_buffer_init(&text);
    for (int i = 0; i < 200; i++) {
        ms_buffer_puts(&text, "if [ a ]; then\n");
    }
    cr_assert_eq(read_script(&f, ms_buffer_text(&text), NULL), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "at most 100 in each other"));
    end(&f);
    start(&f);
    static const char LOOPS[] = "f() { g; g; }\ng() { h; h; h; }\nh() { f; f; A=$A$A; }\nf\n"
                                "while [ 1 = 1 ]; do A=1; while [ 1 = 1 ]; do A=2; done; "
                                "done\npython p.py --num-layers 3\n";
    cr_assert_eq(read_script(&f, LOOPS, NULL), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_str_eq(ms_buffer_text(&f.list), "--num-layers=3 ");
    ms_buffer_release(&text);
    end(&f);
}
