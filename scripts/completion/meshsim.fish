# Completion of meshsim for fish: what may stand there, 'meshsim help --complete' says.

function __meshsim_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for line in ($words[1] help --complete $words[2..-1] $current 2>/dev/null)
        set -l parts (string split \t -- $line)
        switch $parts[1]
            case :file :folder
                set -l typed (string sub -s (math (string length -- $parts[2]) + 1) -- $current)
                for path in (__fish_complete_path $typed)
                    set -l name (string split \t -- $path)[1]
                    if string match -q -- '*/' $name
                        echo $parts[2]$name
                    else if test $parts[1] = :file
                        for ending in (string split ' ' -- $parts[3])
                            if string match -q -- "*$ending" $name
                                echo $parts[2]$name
                            end
                        end
                    end
                end
            case '*'
                echo $line
        end
    end
end

complete -c meshsim -f -a '(__meshsim_complete)'
