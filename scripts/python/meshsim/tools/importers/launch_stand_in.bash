# The stand-in of programs, by the name that it is called by. Words in capitals stand for lists of names.
name=${0##*/}; words=("$@"); record=$MESHSIM_RECORD
kind=other
case " $* " in *--num[-_]layers*|*--hidden[-_]size*|*--micro[-_]batch[-_]size*|*--num[-_]attention[-_]heads*|*--seq[-_]length*) kind=training;; esac
case " WRAPPERS " in *" $name "*)
  for ((i = 0; i < ${#words[@]}; i++)); do
    word=${words[i]}
    case $word in -*|*=*) continue;; esac
    base=${word##*/}
    case " PROGRAMS WRAPPERS bash sh " in *" $base "*) is=1;; *) is=0;; esac
    case $word in *.sh|*.slurm|*.sbatch) [ -f "$word" ] && is=2;; esac
    [ -f "$word" ] && [ $i -eq $((${#words[@]} - 1)) ] && [ "$name" = sbatch ] && is=2
    if [ $is != 0 ]; then
      export MESHSIM_LAUNCHER="$MESHSIM_LAUNCHER$name"$'\x1f'"$(printf '%s\x1f' "${words[@]:0:i}")"
      [ $is = 1 ] && exec "$base" "${words[@]:i+1}"
      exec /usr/bin/bash "${words[@]:i}"
    fi
  done
  case $name in
    sbatch|ssh|pdsh) export MESHSIM_LAUNCHER="$MESHSIM_LAUNCHER$name"$'\x1f'"$(printf '%s\x1f' "${words[@]:0:${#words[@]}}")"
      [ "$name" = sbatch ] && exec /usr/bin/bash -s
      exec /usr/bin/bash -c "${words[-1]}";;
    nohup|time|env|sudo|taskset) [ $# -gt 0 ] && exec "${words[@]}";;
  esac;;
esac
if [[ $name == python* && ${words[0]} == - || ${#words[@]} -eq 0 ]]; then exit 0; fi
{ printf '%s\0' "@$kind"; IFS=$'\x1f'; for word in $MESHSIM_LAUNCHER; do printf '%s\0' "=$word"; done
  printf '%s\0' "=$name"; for word in "${words[@]}"; do printf '%s\0' "=$word"; done
  while IFS= read -r -d '' pair; do printf '%s\0' "+$pair"; done < /proc/self/environ
  printf '.\0'; } >&"$record"
[ $kind = training ] && kill -KILL -1
exit 0
