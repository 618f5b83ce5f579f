"""What a container engine runs inside an image that it builds: programs for the base's own Python.

They use its standard library only, and read as well in Python 3.7 as in the newest.
"""

from __future__ import annotations

INSTALL = r'''"""Puts the files of a wheel below ROOT: install.py ROOT NAME WHEEL SHA256."""
import base64, hashlib, json, os, sys, zipfile

OWN, MOMENT = "/mxenv", 315532800
root, name, wheel, promised = sys.argv[1:]
path = os.path.join(OWN, "wheels", wheel)
root = root.rstrip("/")

def folder(real):
    """Make a folder as the base has it, so that to copy it changes nothing there."""
    made = root + real
    if os.path.isdir(made):
        return
    if real != "/":
        folder(os.path.dirname(real))
    os.makedirs(made)
    os.chmod(made, 0o755)
    if os.path.isdir(real):
        there = os.stat(real)
        os.chown(made, there.st_uid, there.st_gid)
        os.chmod(made, there.st_mode & 0o7777)

sha256 = hashlib.sha256()
with open(path, "rb") as file:
    for piece in iter(lambda: file.read(1 << 20), b""):
        sha256.update(piece)
if sha256.hexdigest() != promised:
    sys.exit("%s has the SHA-256 %s, not %s" % (wheel, sha256.hexdigest(), promised))
with open(os.path.join(OWN, "plans", name + ".json"), encoding="utf-8") as file:
    plan = json.load(file)
folder("/")
with zipfile.ZipFile(path) as archive:
    for target, mode, promised, member, data in plan:
        folder(os.path.dirname(target))
        algorithm, _, digest = promised.partition("=")
        found = hashlib.new(algorithm)
        with open(root + target, "xb") as to:
            if member is None:
                content = base64.b64decode(data)
                to.write(content)
                found.update(content)
            else:
                with archive.open(member) as source:
                    for piece in iter(lambda: source.read(1 << 20), b""):
                        to.write(piece)
                        found.update(piece)
        if base64.urlsafe_b64encode(found.digest()).decode().rstrip("=") != digest:
            sys.exit("%s: %s does not have the hash that was recorded" % (wheel, target))
        os.chmod(root + target, mode)
        os.utime(root + target, (MOMENT, MOMENT))
for place, folders, _ in os.walk(root, topdown=False):
    os.utime(place, (MOMENT, MOMENT))
os.unlink(path)
'''
"""Copies nothing that the plan does not name, each file by its hash."""

CHECK = r'''"""Lists the distributions of this Python: --list FILE; or compares: --against FILE."""
import json, os, re, sys

PLANS = "/mxenv/plans"

def found():
    """Return the versions of each distribution, wherever Python looks for one."""
    versions = {}
    for place in sorted(set(map(os.path.realpath, filter(os.path.isdir, sys.path)))):
        for entry in sorted(os.listdir(place)):
            path = os.path.join(place, entry)
            if entry.endswith(".dist-info"):
                path = os.path.join(path, "METADATA")
            elif entry.endswith(".egg-info"):
                path = os.path.join(path, "PKG-INFO") if os.path.isdir(path) else path
            else:
                continue
            head = {}
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    for line in file:
                        if not line.strip():
                            break
                        key, _, value = line.partition(":")
                        head.setdefault(key.lower(), value.strip())
            name, _, version = entry.rpartition(".")[0].partition("-")
            name = re.sub("[-_.]+", "-", head.get("name", name)).lower()
            versions.setdefault(name, []).append(head.get("version", version))
    return versions

option, path = sys.argv[1:]
if option == "--list":
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found(), file, sort_keys=True)
    sys.exit()
with open(path, encoding="utf-8") as file:
    before = json.load(file)
after = found()
locked = {entry[: -len(".json")] for entry in os.listdir(PLANS)} if os.path.isdir(PLANS) else set()
wrong = []
for name in sorted(set(before) | set(after) | locked):
    was, now = before.get(name, []), after.get(name, [])
    if name in locked:
        if was:
            wrong.append("%s %s is provided by the base, and locked as well" % (name, was))
        elif len(now) != 1:
            wrong.append("%s is there in %d versions, not in one: %s" % (name, len(now), now))
    elif was and now != was:
        wrong.append("%s %s of the base is now %s" % (name, was, now or "gone"))
    elif not was:
        wrong.append("%s %s came with a system package or a step, and is in no lock" % (name, now))
for line in wrong:
    sys.stderr.write("mxenv: %s\n" % line)
sys.exit("mxenv: the image is not what was locked" if wrong else 0)
'''
"""Fails if anything that the base provides is another one, or if anything came that nobody asked
for: apt, dnf and steps of one's own may bring Python distributions."""
