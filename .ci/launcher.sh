#!/bin/sh
# rmqstore @VERSION@ for Linux on @MACHINE@, in one file: this script, and behind it a tar with Python, its packages and the command.
# The first start unpacks @ROOM@ MB into a folder of this user, and each later start runs what is there. RMQSTORE_UNPACK=/folder names the
# folder. To remove all of it: delete this file and that folder, ~/.cache/rmqstore if no other is named.
name=rmqstore-@VERSION@-@SHORT@ machine=@MACHINE@ sum=@SUM@ room=@ROOM@
newline='
'

payload() { tail -c +@BEGIN@ "$0"; }

# In a folder of somebody else, such as one in /tmp, there may be another program under this name.
ours() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }

# Isolated (-I): no PYTHONPATH, and no packages of the user or of the current folder.
start() {
  there=$1
  shift
  exec "$there/bin/python3" -I -m rmqstore "$@"
}

stop() {
  echo "rmqstore: nothing was started. $1" >&2
  exit 126
}

# The name appears once all is unpacked and Python has run there.
unpack() {
  (umask 077 && mkdir -p "$1") 2>/dev/null
  ours "$1" || { why="not writable, or of another user"; return 1; }
  new=$1/new.$$
  (umask 077 && mkdir "$new") 2>/dev/null || { why="not writable"; return 1; }
  trap 'rm -rf "$new"' EXIT
  trap 'exit 130' HUP INT TERM
  why=
  if ! payload | (cd "$new" && tar -xzf -) 2>/dev/null; then
    why="$room MB could not be unpacked there. Is the disk full?"
  else
    said=$("$new/bin/python3" -I -c 'import numpy, pyarrow.lib' 2>&1)
    case $? in
      0) mv "$new" "$1/$name" 2>/dev/null || [ -x "$1/$name/bin/python3" ] || why="no folder in it can be renamed" ;;
      126) why="no program can be started from there: it is mounted noexec" ;;
      *) stop "Python does not start: ${said##*"$newline"}
This file needs glibc 2.17 or newer, libstdc++ and zlib. Alpine Linux has another C library: use the container." ;;
    esac
  fi
  # If another start was first, the folder that this one made is left, or is inside of the other's.
  rm -rf "$new" "$1/$name/new.$$"
  trap - EXIT HUP INT TERM
  [ -z "$why" ]
}

if [ -n "$RMQSTORE_UNPACK" ]; then
  folders=$RMQSTORE_UNPACK
else
  folders=
  case $HOME in /?*) folders=${XDG_CACHE_HOME:-$HOME/.cache}/rmqstore$newline ;; esac
  # No other process yet: most starts find what they need in the first folder.
  ! { ours "${folders%"$newline"}" && ours "${folders%"$newline"}/$name"; } || start "${folders%"$newline"}/$name" "$@"
  user=$(id -u)
  for each in "$TMPDIR" /var/tmp /tmp /dev/shm; do
    [ -z "$each" ] || folders=$folders$each/rmqstore-$user$newline
  done
fi

IFS=$newline
set -f
for each in $folders; do
  ! { ours "$each" && ours "$each/$name"; } || start "$each/$name" "$@"
done

[ "$(uname -m)" = "$machine" ] || stop "This file is for $machine, and this machine is $(uname -m). There is another file for that."
# gzip has a checksum of its own. This one is that of the file as it was released.
if command -v sha256sum >/dev/null 2>&1 && [ "$(payload | sha256sum | cut -d ' ' -f 1)" != "$sum" ]; then
  stop "This file is damaged or not whole: its SHA-256 is not the one at its top. Copy it again."
fi
tried=
for each in $folders; do
  ! unpack "$each" || start "$each/$name" "$@"
  tried="$tried$newline  $each: $why"
done
stop "There is no folder into which this file can unpack itself:$tried
Name a folder with $room MB of room, on a disk that may hold programs: RMQSTORE_UNPACK=/some/folder $0 ..."
