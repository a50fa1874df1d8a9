# Completion of meshsim for bash: what may stand there, 'meshsim help --complete' says.
# To try it without installing it: source scripts/completion/meshsim.bash

# Files behind a part of the word that stays, of some endings, and folders.
_meshsim_files() {
    local part=$1 endings=$2 path ending
    while IFS= read -r path; do
        if [[ -d $path ]]; then
            COMPREPLY+=("$path")
        fi
        for ending in ${endings:-''}; do
            if [[ ! -d $path && $path == *"$ending" ]]; then
                COMPREPLY+=("$path")
            fi
        done
        if [[ -z $endings && ! -d $path ]]; then
            COMPREPLY+=("$path")
        fi
    done < <(compgen -f -- "$part")
}

_meshsim() {
    local -a words=()
    local i word kept endings glue=''
    COMPREPLY=()
    # bash takes '=' and ':' for words of their own; they are parts of ours
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]} > 0)) && [[ -n $glue || $word == [=:]* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == *[=:] ]] && glue=1 || glue=''
    done
    local current=${words[-1]-}
    local before=${current%"${current##*[=:]}"} # what bash has already taken for words before this one

    while IFS= read -r word; do
        # not split by 'read', which takes two tabs for one
        endings=${word##*$'\t'}
        kept=${word#*$'\t'}
        kept=${kept%%$'\t'*}
        case $word in
        :file$'\t'*)
            compopt -o filenames 2>/dev/null
            _meshsim_files "${current#"$kept"}" "$endings"
            ;;
        :folder$'\t'*)
            compopt -o filenames 2>/dev/null
            mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "${current#"$kept"}")
            ;;
        *)
            word=${word%%$'\t'*}
            [[ $word == *[=.:] ]] && compopt -o nospace 2>/dev/null
            COMPREPLY+=("${word#"$before"}")
            ;;
        esac
    done < <("${COMP_WORDS[0]/#\~/$HOME}" help --complete "${words[@]}" 2>/dev/null)
}

complete -F _meshsim meshsim
