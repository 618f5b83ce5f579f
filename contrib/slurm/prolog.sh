#!/bin/sh
# A Prolog for Slurm: says before each job whether its node is known to work, and changes nothing.
#
#   Prolog=/etc/slurm/prolog.d/mxenv.sh          in slurm.conf: into the system's log
#   TaskProlog=/etc/slurm/taskprolog.d/mxenv.sh  the same file: to the user, in the job's output
#
# Slurm drains the node of a Prolog that fails. So this one always ends with 0, whatever it found,
# and whatever became of mxenv. A site that wants a node drained says so itself, for instance in
# place of the last line:
#
#   [ "$status" != 2 ] || scontrol update NodeName="$SLURMD_NODENAME" State=DRAIN Reason="$line"

mxenv=${MXENV_PROLOG_COMMAND:-mxenv}
address=${MXENV_PROLOG_ON:-local:}
seconds=${MXENV_PROLOG_SECONDS:-15}

# Not a second longer: the job waits.
said=$(timeout "$((seconds + 5))" "$mxenv" check --nagios --timeout "$seconds" --on "$address" 2>&1)
status=$?
line=$(printf '%s\n' "$said" | sed -n 1p)
case $line in
    MXENV*) ;;
    *) line="MXENV UNKNOWN - no answer (status $status): $line" status=3 ;;
esac
case $status in
    0) level=info ;;
    1) level=notice ;;
    2) level=err ;;
    *) level=warning ;;
esac

if [ "${SLURM_SCRIPT_CONTEXT:-}" = prolog_task ]; then
    # What a TaskProlog prints behind this word is shown to the user.
    printf 'print %s\n' "$line"
else
    logger -t mxenv -p "daemon.$level" -- "job ${SLURM_JOB_ID:-?}: $line" 2>/dev/null \
        || printf '%s\n' "$line" >&2
fi
exit 0
