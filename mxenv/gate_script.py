"""The parts of the start gate, in POSIX sh; ``@/`` is where the host's files are looked for."""

from __future__ import annotations

PROLOGUE = r"""#!/bin/sh
# The start gate of mxenv: it holds this host against the lock of this image, then starts it.
# MXENV_GATE=enforce starts only what is known to fit, warn says what is wrong and starts, off looks
# at nothing. A command that replaces the entrypoint (`command:` in Kubernetes) passes it by.
set -eu

# What a host or a caller says may hold signs that steer a terminal.
say() {
    text=$1 plain=
    while :; do
        case $text in
        *[!\ -~]*)
            head=${text%%[!\ -~]*}
            text=${text#"$head"?}
            plain="$plain$head?"
            ;;
        *) break ;;
        esac
    done
    printf 'mxenv: start gate: %s\n' "$plain$text" >&2
}

mode=${MXENV_GATE:-enforce}
case $mode in
enforce | warn | off) ;;
*)
    say "MXENV_GATE is '$mode', which is none of enforce, warn, off"
    exit 78
    ;;
esac
if [ "$#" -eq 0 ]; then
    say 'nothing to start: neither the image nor the caller names a command'
    exit 2
fi
if [ "$mode" = off ]; then
    exec "$@"
fi
"""

FUNCTIONS = r"""
# 0 fits, 1 unknown, 2 does not fit.
worst=0

judge() { # RESULT FOUND EXPECTED REMEDY
    if [ "$1" -gt "$worst" ]; then
        worst=$1
    fi
    case $1 in
    1) say "unknown: $2; needed: $3; $4" ;;
    2) say "$2; needed: $3; $4" ;;
    esac
}

# Sets order to -1, 0 or 1: dotted numbers, zeros before a number and missing fields count nothing.
compare() { # ONE OTHER
    one=$1 other=$2 order=0
    while [ "$order" -eq 0 ] && [ -n "$one$other" ]; do
        a=${one%%.*} b=${other%%.*}
        case $one in *.*) one=${one#*.} ;; *) one= ;; esac
        case $other in *.*) other=${other#*.} ;; *) other= ;; esac
        if [ "${a:-0}" -lt "${b:-0}" ]; then
            order=-1
        elif [ "${a:-0}" -gt "${b:-0}" ]; then
            order=1
        fi
    done
}

# Sets numbers and rest: 3.8.30 and -rc1 of 3.8.30-rc1; fails if they are nothing to compare.
split() { # VERSION
    numbers=${1%%[!0-9.]*}
    rest=${1#"$numbers"}
    case $numbers in *.) numbers=${numbers%.} rest=.$rest ;; esac
    case $numbers in '' | .* | *..*) return 1 ;; esac
    case $rest in '!'*) return 1 ;; esac
    left=$numbers.
    while [ -n "$left" ]; do
        a=${left%%.*} left=${left#*.}
        # A longer number may not fit the shell's arithmetic.
        if [ "${#a}" -gt 18 ]; then
            return 1
        fi
    done
}

# Sets result: whether $numbers with $rest are the version, or in the family, WANTED.
same() { # WANTED
    case $1 in
    *.\*)
        family=${1%.\*} mine=$numbers result=0
        while [ -n "$family" ]; do
            if [ -z "$mine" ]; then
                # It agrees as far as it goes, which is not far enough.
                result=1
                return 0
            fi
            compare "${mine%%.*}" "${family%%.*}"
            if [ "$order" -ne 0 ]; then
                result=2
                return 0
            fi
            case $mine in *.*) mine=${mine#*.} ;; *) mine= ;; esac
            case $family in *.*) family=${family#*.} ;; *) family= ;; esac
        done
        ;;
    *)
        compare "$numbers" "$1"
        if [ "$order" -ne 0 ]; then
            result=2
        elif [ -n "$rest" ]; then
            result=1
        else
            result=0
        fi
        ;;
    esac
}

# Sets result: whether VERSION satisfies one operator with its values.
hold() { # VERSION OPERATOR WANTED...
    if [ "$2" = present ]; then
        result=0
        return 0
    fi
    if ! split "$1"; then
        result=1
        return 0
    fi
    operator=$2
    shift 2
    case $operator in
    '==' | '!=' | in)
        best=2
        for wanted in "$@"; do
            same "$wanted"
            if [ "$result" -lt "$best" ]; then
                best=$result
            fi
        done
        result=$best
        if [ "$operator" = '!=' ]; then
            result=$((2 - best))
        fi
        return 0
        ;;
    esac
    compare "$numbers" "$1"
    if [ "$order" -eq 0 ] && [ -n "$rest" ]; then
        # Whether 3.8.30-x is older or newer than 3.8.30 depends on what x means.
        result=1
        return 0
    fi
    case $operator$order in
    '>=0' | '>=1' | '>1' | '<=0' | '<=-1' | '<-1') result=0 ;;
    *) result=2 ;;
    esac
}

# Sets line to the first line of a file; fails if there is none.
first_line() { # FILE
    line=
    if [ -r "$1" ]; then
        read -r line <"$1" 2>/dev/null || :
    fi
    [ -n "$line" ]
}
"""

REMEDIES = {
    "look": """look="run 'mxenv verify' on the host to see more"\n""",
    "map": "map='start with --device=/dev/mxcd --device=/dev/dri --group-add video, "
    "or take another node'\n",
}
"""What to do where more than one function says so, by the variable that holds it."""

READ_KMD = r"""
# The driver: kmd is its version, or empty if it cannot be read. A container may be shown another
# /sys than the host's, so a module that is not there is not known to be absent.
kmd='' kmd_source='/sys/module/metax/version and mx-smi do not say it'
if [ -d '@/sys/module' ] && ! [ -e '@/sys/module/metax' ]; then
    kmd_source='no module metax is loaded, as far as can be seen'
fi
if first_line '@/sys/module/metax/version'; then
    kmd=$line kmd_source=/sys/module/metax/version
else
    limit=
    if command -v timeout >/dev/null 2>&1; then
        limit='timeout 20'
    fi
    for tool in '@/opt/mxdriver/bin/mx-smi' '@/usr/bin/mx-smi'; do
        if [ -z "$kmd" ] && [ -x "$tool" ]; then
            # shellcheck disable=SC2086 # two words or none
            table=$($limit "$tool" </dev/null 2>/dev/null) || :
            case $table in
            *'Kernel Mode Driver Version:'*)
                kmd=${table#*'Kernel Mode Driver Version:'}
                kmd=${kmd#"${kmd%%[! ]*}"}
                kmd=${kmd%%[!0-9A-Za-z.+_-]*}
                kmd_source=mx-smi
                ;;
            esac
        fi
    done
fi

driver() { # EXPECTED OPERATOR WANTED...
    expected=$1
    shift
    if [ -z "$kmd" ]; then
        judge 1 "metax.kmd cannot be read: $kmd_source" "$expected" "$look"
        return 0
    fi
    hold "$kmd" "$@"
    judge "$result" "metax.kmd is $kmd ($kmd_source)" "$expected" \
        'update the driver on the host, or take another node'
}
"""

READ_NVIDIA = r"""
# The driver of NVIDIA: a file of its own says the version, or the first number of another one.
nvidia_kmd='' nvidia_source=/sys/module/nvidia/version
if first_line '@/sys/module/nvidia/version'; then
    nvidia_kmd=$line
elif first_line '@/proc/driver/nvidia/version'; then
    nvidia_source=/proc/driver/nvidia/version
    for word in $line; do
        case $word in
        [0-9]*.[0-9]*)
            nvidia_kmd=$word
            break
            ;;
        esac
    done
fi

nvidia() { # EXPECTED OPERATOR WANTED...
    expected=$1
    shift
    if [ -z "$nvidia_kmd" ]; then
        judge 1 'nvidia.kmd cannot be read: no file of the driver says it' \
            "$expected" "$look"
        return 0
    fi
    hold "$nvidia_kmd" "$@"
    judge "$result" "nvidia.kmd is $nvidia_kmd ($nvidia_source)" "$expected" \
        'update the driver on the host, or take another node'
}
"""

READ_KERNEL = r"""
kernel() { # EXPECTED OPERATOR WANTED...
    expected=$1
    shift
    if first_line '@/proc/sys/kernel/osrelease'; then
        hold "$line" "$@"
        judge "$result" "kernel.release is $line" "$expected" 'take a node with another kernel'
    else
        judge 1 'kernel.release cannot be read' "$expected" "$look"
    fi
}
"""

READ_MODELS = r"""
# The cards whose device nodes are here: cards is their PCI device ids.
cards='' seen_cards=no
if [ -d '@/sys/bus/pci/devices' ]; then
    seen_cards=yes
    for device in '@/sys/bus/pci/devices'/*; do
        if ! first_line "$device/vendor" || [ "$line" != 0x9999 ]; then
            continue
        fi
        here=yes
        for node in "$device"/drm/renderD*; do
            if [ -e "$node" ] && ! [ -e "@/dev/dri/${node##*/}" ]; then
                here=no
            fi
        done
        if [ "$here" = yes ]; then
            first_line "$device/device" || line=unreadable
            cards="$cards $line"
        fi
    done
fi

models() { # EXPECTED GOOD BAD, the last two as lists of PCI ids
    if [ "$seen_cards" = no ]; then
        judge 1 'metax.device.model cannot be read: no /sys/bus/pci/devices' "$1" \
            "$look"
        return 0
    fi
    if [ -z "$cards" ]; then
        judge 2 'no MetaX card is here' "$1" \
            "$map"
    fi
    for card in $cards; do
        case " $2 " in *" $card "*) continue ;; esac
        case " $3 " in
        *" $card "*) judge 2 "a card has the PCI id 9999:$card" "$1" 'take another node' ;;
        *) judge 1 "a card has the PCI id 9999:$card, no known model" "$1" 'take another node' ;;
        esac
    done
}
"""

READ_NODES = r"""
node() { # PATH
    if ! [ -e "@$1" ]; then
        judge 2 "$1 is not here" "metax.node[$1] present" "$map"
    fi
}
"""

EPILOGUE = r"""
if [ "$worst" -gt 0 ]; then
    if [ "$mode" = enforce ]; then
        say 'not started; MXENV_GATE=warn starts all the same'
        exit 78
    fi
    say 'started all the same, as MXENV_GATE=warn says'
fi
"""

END = r"""
exec "$@"
"""
