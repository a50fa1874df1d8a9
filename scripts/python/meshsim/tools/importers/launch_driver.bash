# What runs in the sandbox: it sets the limits, says that the sandbox stands, and reads the scripts. A file of variables alone starts nothing:
# they are told behind it. Words in capitals stand for numbers.
ulimit -c 0 -t CPU -v MEMORY -u PROCESSES -f FILES -n 256 || exit 125
export MESHSIM_RECORD=RECORD
printf '!\0' >&RECORD
__meshsim_end() { local code=$? name; { printf '%s\0' "#$code"
  for name in $(compgen -v); do case $name in BASH*|MESHSIM*|__*) continue;; esac
    local -n __value=$name; case " ${__value[*]} " in *" --"*) printf '%s\0' @variables; for __word in "${__value[@]}"; do printf '%s\0' "=$__word"; done; printf '.\0';; esac; done
  } >&RECORD 2>/dev/null; }
trap __meshsim_end EXIT
command_not_found_handle() {
  case $1 in --*) { printf '%s\0' @loose; for __word in "$@"; do printf '%s\0' "=$__word"; done; printf '.\0'; } >&RECORD; return 0;; esac
  echo "bash: $1: command not found" >&2; return 127; }
__scripts=("${@:1:COUNT}"); shift COUNT
for __script in "${__scripts[@]}"; do BASH_ARGV0=$__script; source "$__script"; done
