"""The POSIX sh text by which a shell on a node answers, and nothing else is needed there.

What the text may not do: write a file, count on anything that POSIX lets a system leave out
without another way, run a program while a question of the same kind could wait for it for ever.
Nor does it start a process for what the shell can do itself: that is what a node's time goes to.

Standard output carries what is asked of files, in items. Each begins with a line that holds a
number drawn anew for each block of questions, so no content can look like one. Programs that
read many files at once name each before its content, so the names are given to them with a
prefix of slashes and dots, drawn as well: it leads nowhere else and cannot be foreseen.

Standard error carries commands, several at once. There every line is hexadecimal behind a tag,
and is written at once with others of its length: below 4096 bytes, a pipe mixes no two writes.
"""

from __future__ import annotations

import os

UTILITIES = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
"""Where the shell's own helpers are; only what is in none of them is looked for elsewhere."""
PROGRAMS = (
    "awk cat cd command dd df echo env getconf grep head kill ls od openssl printf read readlink"
    " sed sha256sum sleep stat test true uname wait wc"
)
"""What the shell must not take for a function that somebody exported, as bash can."""
FIELDS = ("Package: ", "Status: ", "Version: ")
FEW = 64
"""Lines of a command's output that the shell sends by itself: nearly all print no more, and the
programs that would do it take longer to start."""
LATER = 5
"""Seconds after the time limit at which the node ends all by itself: nobody told it to."""

LIBRARY = r"""
exec 8>&2 2>/dev/null
set +aefmuvxC
unalias -a
unset -f @programs@
if (set +o pipefail); then set +o pipefail; fi
S=@session@
K() {
  z=; if echo x | MXENV_RUNS= grep -z x >/dev/null; then z=-z; fi
  for i in 1 2 3 4; do
    q=
    for j in $(MXENV_RUNS= grep -l $z "^MXENV_RUNS=$1" /proc/[0-9]*/environ); do
      j=${j#/proc/}; q="$q ${j%/environ}"
    done
    if [ ! "$q" ]; then
      if [ ! "$2" ] || [ $i -gt 1 ]; then break; fi
    fi
    kill -9 $q $(MXENV_RUNS= cat /proc/[0-9]*/stat | MXENV_RUNS= awk -v q="$q $2" '
      { sub(/ \(.*\) /, " "); above[$1] = $3 }
      END {
        n = split(q, p, " "); for (j = 1; j <= n; j++) gone[p[j]] = 1
        do { more = 0
          for (j in above)
            if (!(j in gone) && (above[j] in gone)) { gone[j] = 1; print j; more = 1 }
        } while (more)
      }')
  done
}
W=
Z() { trap - 0; [ "$W" ] && kill $W; K "$S" $$; }
trap Z 0
trap 'exit 1' 1 2 13 15
u() {
  cd / || exit
  PATH=@utilities@:$PATH; LC_ALL=C; MXENV_RUNS=$S.$1.
  export PATH LC_ALL MXENV_RUNS
  unset QUOTING_STYLE TIME_STYLE BLOCK_SIZE LS_BLOCK_SIZE DF_BLOCK_SIZE BLOCKSIZE GREP_OPTIONS \
    POSIXLY_CORRECT LD_PRELOAD LD_LIBRARY_PATH
}
m() { printf '\n%s %s\n' "$N" "$1"; }
w() { { e=$("$@" 2>&1 >&3 3>&-); } 3>&1; printf '\n%s !\n%s' "$N" "$e"; }
l() {
  w ls -ldn "$@"
  printf '\n%s ?\n' "$N"
  case $e in *[Dd]enied*) ;; *) return ;; esac
  i=0
  for p do
    if [ -e "$p" ] || [ -h "$p" ]; then :; else
      d=${p%/*}
      if [ -d "$d/" ] && [ ! -x "$d/" ]; then printf '%s ' "$i"; fi
    fi
    i=$((i + 1))
  done
}
o() {
  k=-; d=${1%/*}
  if [ -h "$1" ]; then k=l; elif [ -f "$1" ]; then k=f; elif [ -d "$1" ]; then k=d
  elif [ -p "$1" ]; then k=p; elif [ -c "$1" ]; then k=c; elif [ -b "$1" ]; then k=b
  elif [ -S "$1" ]; then k=s; elif [ -e "$1" ]; then k='?'
  elif [ -d "$d/" ] && [ ! -x "$d/" ]; then k='!'; fi
  printf '%s ' "$k"
  stat -c '%f %s' "$1"
  if [ $k = l ]; then printf '\n%s >\n' "$N"; readlink "$1"; fi
}
g() { if [ $# -gt 1 ] || [ -e "$1" ] || [ -h "$1" ]; then printf '%s\0' "$@"; a=1; fi; }
n() {
  a=
  if [ -r "$1/" ] && [ -x "$1/" ]; then
    g "$1"/*; g "$1"/.*
    [ "$a" ] || ls "$1/" >/dev/null || printf '!'
  else
    printf '!'
  fi
}
if [ "$(printf abc | PATH=@utilities@:$PATH head -c 2)" = ab ]; then
  H=1
else
  H=
  H() {
    n=$1; shift
    for p do
      printf '\n==> %s <==\n' "$p"
      dd if="$p" bs=1024 count=$(((n + 1023) / 1024)) 2>/dev/null ||
        echo "dd: $p: Input/output error" >&2
    done
  }
fi
k() { for p do if [ ! -f "$p" ] || [ -h "$p" ]; then return 1; fi; done; }
h() {
  n=$1; shift
  k "$@" ||
    for p do shift; if [ -f "$p" ] && [ ! -h "$p" ]; then set -- "$@" "$p"; fi; done
  if [ "$H" ]; then w head -c "$n" "$@" "$P/dev/null"; else w H "$n" "$@" "$P/dev/null"; fi
}
D=
if PATH=@utilities@:$PATH command -v sha256sum >/dev/null; then
  D=1
elif PATH=@utilities@:$PATH command -v openssl >/dev/null; then
  d() { openssl dgst -sha256 -r "$@"; }
else
  d() { echo 'sha256sum: no program for it' >&2; }
fi
s() {
  k "$@" ||
    for p do shift; if [ -f "$p" ] && [ ! -h "$p" ]; then set -- "$@" "$p"; fi; done
  if [ $# -eq 0 ]; then :; elif [ "$D" ]; then w sha256sum "$@"; else w d "$@"; fi
}
r() {
  for p do shift; if [ -f "$p" ] && [ ! -h "$p" ] && [ -r "$p" ]; then set -- "$@" "$p"; fi; done
  w awk -F/ -v e="$P/dev/null" '
    FNR == 1 { print ""; print "==> " FILENAME " <=="; split("", seen) }
    NF == 1 || !($1 in seen) || $2 ~ /^__init__\.py(,|\r|$)/ { print }
    { seen[$1] = 1 }
    END { print ""; print "==> " e " <==" }' "$@" "$P/dev/null"
}
q() {
  if [ ! -f "$2" ] || [ -h "$2" ]; then return; fi
  if ! { true <"$2"; }; then printf '!'; return; fi
  printf '%s' "$(($(dd if="$2" bs=65536 count=$(($1 / 65536 + 1)) | wc -c)))"
  printf '\n%s >\n' "$N"
  dd if="$2" bs=65536 count=$(($1 / 65536 + 1)) | sed -n @fields@
}
x() {
  { od -An -v -tx1 -N @limit@; dd ibs=4096 obs=65536 count=@flood@ >/dev/null; } | {
    i=0
    while [ $i -lt @few@ ] && IFS= read -r p; do echo "$N$1$p" >&9; i=$((i + 1)); done
    [ $i -lt @few@ ] || sed "s/^/$N$1/" | dd ibs=4096 obs="$L" >&9
  }
}
f() {
  T=; U=
  case $1 in */*) [ -f "$1" ] && T=$1; return ;; esac
  for d in @directories@; do
    p=$d/$1
    if [ -f "$p" ]; then
      if [ -x "$p" ]; then T=$p; return; fi
      U=${U:-$p}
    elif [ -d "$d" ] && [ ! -x "$d" ]; then
      U=${U:-$p}
    fi
  done
  T=$U
}
c() {
  t=$1; f "$2"; shift 2
  if [ ! "$T" ]; then printf '%sx127\n' "$N$t" >&9; return; fi
  if [ ! -x "$T" ]; then printf '%sn%s\n' "$N$t" "$(stat -c %a "$T" 2>/dev/null)" >&9; return; fi
  printf '%ss\n' "$N$t" >&9
  {
    {
      {
        ( exec </dev/null 2>&3 3>&- 8>&- 9>&-; E "$T" "$@" )
        printf '%sx%s\n' "$N$t" "$?" >&9
      } | x "${t}o" 3>&-
    } 3>&1 >/dev/null
  } | x "${t}e"
  printf '%sz\n' "$N$t" >&9
}
(
  exec </dev/null >/dev/null 8>&-
  trap 'kill $s; exit' 15
  u w; sleep @seconds@ & s=$!
  wait $s; K "$S.[^w]"; kill -9 $$
) &
W=$!
"""
"""The functions; whoever asks calls them by one letter, since bash reads all this bytewise."""

HELLO = r"""
( N=@nonce@; h=${MACA_PATH-}; l=${LD_LIBRARY_PATH-}; u h
m 0; uname -n; m 1; printf '%s' "$$"; m 2; printf '%s' "$h"; m 3; printf '%s' "$l"; m . )
"""


def fill(text: str, **values: object) -> bytes:
    """Return ``text`` with each ``@name@`` in it replaced."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return os.fsencode(text)


def quote(text: str) -> str:
    """Return ``text`` so that a shell takes it as it is; not even a line's end is special."""
    return "'" + text.replace("'", "'\\''") + "'"
