"""What the code of a finding means, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class Code:
    """One kind of finding; a code never changes what it stands for."""

    title: str
    meaning: str
    """What is so, and when this is said."""
    how: str = ""
    """How it was found out: what was looked at, and compared with what."""
    remedy: str


_OPERATORS = (
    "Each operator of the inventory was held against what the platform's own build of torch says "
    "of itself, and against the [[operator]] rows of the matrix, which come first."
)

CODES: Mapping[str, Code] = {
    # MX1xx: a node, or what is inside an image, against the matrix.
    "MX101": Code(
        title="no accelerator here",
        meaning="No MetaX card was found, so nothing can be said of a stack for one. Not having "
        "looked at a card is not compatibility.",
        how="The PCI bus, the driver's folders and mx-smi were asked for cards; of an "
        "image, its folders for an SDK, and its distributions for a vendor's build tag.",
        remedy="Ask a node that has a card, or a recording of one: "
        "`mxenv check --on recording:DIR`; in a container, map /dev/mxcd and /dev/dri into it.",
    ),
    "MX102": Code(
        title="Python environment not decided",
        meaning="Several Python environments could be the one in use, and their versions differ "
        "from what one of them alone would give.",
        how="The environments that hold the vendor's framework, or else any of its builds, "
        "or else any framework, were counted: there is more than one.",
        remedy="Name it: `mxenv check --env PREFIX`.",
    ),
    "MX103": Code(
        title="component could not be read",
        meaning="A named component (driver, SDK, framework) may be there, and could not be read.",
        how="The reading of the component is Unreadable: a file that may not be opened, a "
        "tool that failed or timed out, or text that mxenv does not understand.",
        remedy="See the reason; run `mxenv probe` where the component can be read.",
    ),
    "MX104": Code(
        title="component is missing",
        meaning="A component that this node needs was looked for where it would be, and is not "
        "there.",
        how="Every place where the component would be was looked at, and none has it.",
        remedy="Install the version that the matrix names beside the other components.",
    ),
    "MX105": Code(
        title="driver and SDK not seen working together",
        meaning="No tested row has this kernel-mode driver with an SDK of this family on a card of "
        "this series, and no rule by the vendor covers them. Releases name no driver.",
        how="The driver, the SDK's first three fields and each card were held against every "
        "tested row, and against the rules by which the vendor vouches for pairs.",
        remedy="Take a pair that was tested, or run the pilot on this node and add its evidence to "
        "the site's matrix.",
    ),
    "MX106": Code(
        title="driver and SDK work together",
        meaning="A tested row has this driver with an SDK of this family on a card of this series.",
        how="The driver, the SDK's first three fields and each card are those of the tested "
        "row that is named, or the rule that is named vouches for the pair.",
        remedy="Nothing to do.",
    ),
    "MX107": Code(
        title="SDK not in the matrix",
        meaning="No release and no tested row has an SDK of this family (its first three fields).",
        how="The first three fields of the SDK's version were looked for among those of all "
        "release and tested rows.",
        remedy="Take an SDK of a known family, or a newer matrix: `--matrix FILE`.",
    ),
    "MX108": Code(
        title="distribution not covered",
        meaning="No release and no tested row has this version with what else is installed. Rows "
        "that pin another component differently do not count.",
        how="The version was held against every row for this SDK; a row counts only if it "
        "contradicts nothing else that is installed.",
        remedy="Install the version that the named release pins.",
    ),
    "MX109": Code(
        title="component covered",
        meaning="A release or tested row has exactly this version, and agrees with the SDK and "
        "with every other named component.",
        how="The version is the one that the named row pins, and the row contradicts "
        "nothing else that is installed.",
        remedy="Nothing to do.",
    ),
    "MX110": Code(
        title="versions of different releases are mixed",
        meaning="The vendor's build tags, and the SDK, belong to more than one SDK family (first "
        "three fields). This is the commonest reason why a job fails to start.",
        how="The SDK's version and the build tag of each distribution (+metaxA.B.C.D) were "
        "sorted by their first three fields.",
        remedy="Reinstall the odd ones from the release of the SDK.",
    ),
    "MX111": Code(
        title="a rule is broken",
        meaning="A rule of the matrix applies to this node, and what it requires is not so.",
        how="The row's conditions were held against the facts of the node: each is met, and "
        "what it requires is not.",
        remedy="See the remedy and the evidence of the row.",
    ),
    "MX112": Code(
        title="a rule could not be decided",
        meaning="A rule may apply to this node or may be broken, and a fact that it needs could "
        "not be read. It is not skipped: a blind probe would then be a clean bill of health.",
        how="The row's conditions were held against the facts of the node, and the ones "
        "that are named could not be read.",
        remedy="Make the fact readable, then probe again.",
    ),
    "MX113": Code(
        title="a rule holds",
        meaning="A rule of the matrix applies to this node, and what it requires is so.",
        how="The row's conditions were held against the facts of the node: what it requires is so.",
        remedy="Nothing to do.",
    ),
    "MX114": Code(
        title="known to be broken",
        meaning="The node is in a state that the matrix lists as not working.",
        how="The row's conditions were held against the facts of the node: each is met.",
        remedy="See the remedy and the evidence of the row.",
    ),
    "MX115": Code(
        title="may be known to be broken",
        meaning="The node may be in a state that the matrix lists as not working; a fact that "
        "would tell could not be read.",
        how="The row's conditions were held against the facts of the node: none excludes "
        "it, and the ones that are named could not be read.",
        remedy="Make the fact readable, then probe again.",
    ),
    "MX116": Code(
        title="sources disagree",
        meaning="Two sources give different values for one fact. Both are shown; which is right "
        "cannot be told from here.",
        how="Two sources were asked for the same fact, as a file and a tool, and their "
        "values differ as versions.",
        remedy="Look at both sources; a restart after an upgrade often makes them agree.",
    ),
    "MX117": Code(
        title="the host was not asked",
        meaning="An image holds no driver and no card. What a host must bring is checked on the "
        "host, by the lock's host requirements and the start gate.",
        how="What was asked is an image: its files, not a machine.",
        remedy="Check the node as well: `mxenv verify LOCK --on ADDRESS`.",
    ),
    "MX118": Code(
        title="tested against a general rule",
        meaning="A rule says that these versions do not go together, and a tested row has exactly "
        "these versions working together. Exact evidence beats the rule.",
        how="A rule is broken, and a tested row has this driver, this SDK, these cards and "
        "every version that the rule looked at.",
        remedy="Nothing to do; read both rows if something fails.",
    ),
    "MX119": Code(
        title="waiver expired",
        meaning="A finding was waived until a day that is past. It counts again, and the waiver "
        "itself is a failure, so that it is renewed or removed on purpose.",
        how="The waiver's date was compared with today's.",
        remedy="Mend what was waived, or renew the waiver with a new date and reason.",
    ),
    "MX120": Code(
        title="waiver not used",
        meaning="A waiver matched no finding. It changes nothing, and is shown so that it can be "
        "removed.",
        how="The waiver's code and subject were compared with those of every finding.",
        remedy="Remove the waiver.",
    ),
    "MX121": Code(
        title="built for another machine",
        meaning="The shared objects of a distribution, or of a vendor's folder, are for another "
        "processor than the C library of this place.",
        how="The machine in the ELF header of each object was compared with that of the C library.",
        remedy="Install the build for this machine.",
    ),
    "MX122": Code(
        title="the system is too old for a library",
        meaning="A shared object needs a version of glibc or of libstdc++ that the one here does "
        "not define. In a container this is often the host's driver library, which is newer than "
        "the image.",
        how="The versions of glibc and libstdc++ that each object asks for were compared "
        "with those that the libraries here define.",
        remedy="Take a base image with a newer system, or a build for an older one.",
    ),
    "MX123": Code(
        title="built against another framework",
        meaning="An extension needs symbols that neither the framework in its environment nor "
        "any library that is loaded with it defines: importing it fails.",
        how="The undefined symbols of the extension were looked for in the framework and in "
        "all that is loaded with it.",
        remedy="Install the build of the distribution for the framework that is there.",
    ),
    "MX124": Code(
        title="a library is not found",
        meaning="A shared object needs a library that is in none of the directories that are "
        "searched: its own, the vendors', LD_LIBRARY_PATH, the linker's. A program may add others "
        "when it starts, so that this alone proves nothing.",
        how="The libraries that each object names were looked for in the directories that a "
        "dynamic linker would search.",
        remedy="Install what brings the library, or name its directory in LD_LIBRARY_PATH.",
    ),
    "MX125": Code(
        title="a requirement is met",
        meaning="A requirement of the matrix (a limit, a boot parameter, a variable, a kernel) "
        "applies to this place, and is met.",
        how="The row's conditions were held against the facts of the place: what it "
        "requires is so.",
        remedy="Nothing to do.",
    ),
    "MX126": Code(
        title="a requirement is not met",
        meaning="A requirement of the matrix applies to this place, and is not met. Unless its row "
        "says more, that is a warning: nobody saw that this very state fails.",
        how="The row's conditions were held against the facts of the place: each is met, "
        "and what it requires is not.",
        remedy="See the remedy and the evidence of the row; waive it where it does not matter.",
    ),
    "MX127": Code(
        title="advice",
        meaning="A requirement of the matrix may apply to this place, and no fact tells whether it "
        "is met. Nothing is held against the node for it.",
        how="The row applies, or may apply, and what it asks for could not be read, or is "
        "nothing that a probe can see.",
        remedy="See the remedy and the evidence of the row.",
    ),
    "MX190": Code(
        title="node could not be asked",
        meaning="One of many nodes could not be reached, or was asked for in a way that cannot be. "
        "Nothing is known of it, which is not compatibility.",
        how="The address was opened, and that failed before a question could be put.",
        remedy="See the reason; `mxenv probe --on ADDRESS` tries that node alone.",
    ),
    "MX191": Code(
        title="as expected",
        meaning="Something that was taken for granted of the node (`--expect`) is so.",
        how="The expectation was held against the facts of the node.",
        remedy="Nothing to do.",
    ),
    "MX192": Code(
        title="not the node that was expected",
        meaning="Something that was taken for granted of the node (`--expect`) is not so, or could "
        "not be read: a snapshot of another node, a container without its cards, a card that is "
        "gone. What else is said of it is said of the wrong one.",
        how="The expectation was held against the facts of the node.",
        remedy="Name the right node, or look why it is not as it should be.",
    ),
    # MX3xx: an image, or a node, against its lock.
    "MX301": Code(
        title="the image is the lock's",
        meaning="The digest of the image's configuration is the one that the lock records, or, "
        "where it records none, the one that lock and base make. It covers every layer, those of "
        "the base included.",
        how="The digest of the image's configuration was compared with the one in the lock.",
        remedy="Nothing to do.",
    ),
    "MX302": Code(
        title="not the image of this lock",
        meaning="The layers or the configuration that the lock records are not those of the "
        "image: it was made from another lock, on another base, or by somebody else.",
        how="The digests of the image's layers and configuration were compared with those "
        "in the lock.",
        remedy="Run `mxenv build` again, or name the image that was built from this lock.",
    ),
    "MX303": Code(
        title="a layer on top",
        meaning="Somebody added a layer to the image. Packages and their files are compared "
        "through it; what else it does is not known.",
        how="The image has the layers of the lock, in their order, and more on top of them.",
        remedy="Take the image without it, or put what it brings into image.toml.",
    ),
    "MX304": Code(
        title="the lock inside the image",
        meaning="Every image holds a copy of its lock, without the image's own digest. It is "
        "missing, or another lock, if the finding is no success.",
        how="The file that a build leaves in the image was read, and compared with the lock.",
        remedy="Run `mxenv build` again, or name the lock that the image was built from.",
    ),
    "MX305": Code(
        title="the base could not be read",
        meaning="The lock records no image, so the layers of the image have to be compared with "
        "those of its base, and the base is not where the lock says or cannot be reached.",
        how="The base was asked for at the reference in the lock, by its digest.",
        remedy="Run `mxenv build` and keep the lock that it writes, or make the base readable.",
    ),
    "MX306": Code(
        title="an image that a container engine made",
        meaning="The lock asks for system packages or steps, which only a container engine can do, "
        "and its images differ each time: no digest says that this is the one. Distributions, the "
        "files of wheels and the lock inside are compared; what the steps did beside is not known.",
        how="The lock has system packages or steps, and nobody's signature was asked for.",
        remedy="Sign the image when it is built, and verify it with the key.",
    ),
    "MX310": Code(
        title="distributions as locked",
        meaning="Each distribution of the lock and of its base is there once, in the locked "
        "version, and there is no other.",
        how="The metadata of every distribution in the image was compared with the lock and "
        "with what its base provides.",
        remedy="Nothing to do.",
    ),
    "MX311": Code(
        title="distribution missing",
        meaning="A distribution that the lock adds, or that its base provides, is not there.",
        how="The metadata of every distribution in the image was compared with the lock and "
        "with what its base provides.",
        remedy="Take the image that was built from this lock.",
    ),
    "MX312": Code(
        title="distribution in another version",
        meaning="A distribution that the lock adds is there in another version.",
        how="The version in the distribution's metadata was compared with the lock.",
        remedy="Take the image that was built from this lock.",
    ),
    "MX313": Code(
        title="distribution there twice",
        meaning="A distribution is there more than once; which one Python imports depends on the "
        "order of directories.",
        how="Every directory in which Python looks for distributions was listed.",
        remedy="Remove the one that the lock does not name.",
    ),
    "MX314": Code(
        title="distribution in no lock",
        meaning="A distribution is there that neither the lock nor its base brings.",
        how="The metadata of every distribution in the image was compared with the lock and "
        "with what its base provides.",
        remedy="Remove it, or add it to image.toml and run `mxenv lock`.",
    ),
    "MX315": Code(
        title="distribution of the base changed",
        meaning="A distribution that the base provides is there in another version. Installing "
        "with pip over a vendor's build is the commonest reason.",
        how="The version in the distribution's metadata was compared with what the lock "
        "says of its base.",
        remedy="Take the image that was built from this lock.",
    ),
    "MX316": Code(
        title="distributions could not be read",
        meaning="What is installed could not be read, or not all of it.",
        how="The directories in which Python looks for distributions, or the metadata in "
        "them, could not be read.",
        remedy="Verify it where it can be read: an image with all its layers, or the node itself.",
    ),
    "MX317": Code(
        title="fact of the base as locked",
        meaning="A fact of the base that the lock relied upon is still so.",
        how="The fact was asked for again, and compared with the one in the lock.",
        remedy="Nothing to do.",
    ),
    "MX318": Code(
        title="fact of the base changed",
        meaning="A fact of the base that the lock relied upon is not so, or could not be read.",
        how="The fact was asked for again, and compared with the one in the lock.",
        remedy="Take the base that was locked, or run `mxenv lock` again.",
    ),
    "MX320": Code(
        title="files as their wheels brought them",
        meaning="Every file of every locked wheel is there, with the hash that the wheel says.",
        how="Every file of every locked wheel was hashed, and compared with the wheel, or "
        "with its RECORD.",
        remedy="Nothing to do.",
    ),
    "MX321": Code(
        title="file altered",
        meaning="A file of a locked wheel has other content than the wheel brought; the layer "
        "that it comes from is named.",
        how="The file was hashed, and compared with the wheel, or with its RECORD.",
        remedy="Do not use this image. Find out who pushed it, and build it again.",
    ),
    "MX322": Code(
        title="file missing",
        meaning="A file of a locked wheel is not there, or was removed by a layer on top.",
        how="The files that the wheel's RECORD lists were looked for in all layers.",
        remedy="Do not use this image. Build it again.",
    ),
    "MX323": Code(
        title="RECORD not to be relied upon",
        meaning="The list of a distribution's files and their hashes is missing, unreadable, or "
        "was replaced by a layer that is not the lock's.",
        how="RECORD was compared with the one in the wheel, and the layer that it comes "
        "from with those of the lock.",
        remedy="Run `mxenv fetch LOCK`, so that files are compared with the wheels themselves.",
    ),
    "MX324": Code(
        title="file not compared",
        meaning="A file of a locked wheel could not be compared with it: the wheel is not in the "
        "wheelhouse, a layer is not there, or its hash is of another kind.",
        how="What the file would be compared with was asked for, and is not here.",
        remedy="Run `mxenv fetch LOCK`, then verify again.",
    ),
    "MX325": Code(
        title="file that no wheel brought",
        meaning="A file lies where Python looks for modules, in a layer that is not the base's, "
        "and no wheel of the lock brings it. Python may run it (.pth, sitecustomize.py).",
        how="Every directory in which Python looks for modules was listed, and each file "
        "compared with those of the base and of the wheels.",
        remedy="Do not use this image before you know what the file is for.",
    ),
    "MX326": Code(
        title="bytecode that no wheel brought",
        meaning="Compiled modules lie beside those of locked wheels. Python runs them instead of "
        "the sources, which were compared. A container that ran and was committed leaves them.",
        how="Every directory in which Python looks for modules was listed.",
        remedy="Run `mxenv build` again, and take that image.",
    ),
    "MX327": Code(
        title="link of the base covered",
        meaning="A layer has something below a path that is a link in the base (/lib, /bin). Some "
        "engines follow the link, others put a directory in its place, and what the link led to "
        "is gone from there.",
        how="The paths of each layer were compared with the links of the base.",
        remedy="Run `mxenv lock` again: it puts nothing below a link. Then `mxenv build`.",
    ),
    "MX328": Code(
        title="file replaced or removed on top",
        meaning="A layer that lies on top of those of the lock replaces or removes a file of the "
        "base, or one that the build wrote.",
        how="The paths of the layers on top were compared with those of the lock's layers.",
        remedy="Do not use this image. Build it again.",
    ),
    "MX330": Code(
        title="asked of the host by the start gate",
        meaning="An image holds no host. Whether the start gate that will ask it is in place, and "
        "is the one that belongs to the lock, was checked.",
        how="The start gate in the image was compared with the one that the lock gives.",
        remedy="Run `mxenv verify LOCK` on the node itself to know before the image starts there.",
    ),
    "MX331": Code(
        title="the host is as the lock requires",
        meaning="A host requirement of the lock holds on this node.",
        how="The lock's host requirement was held against the facts of the node.",
        remedy="Nothing to do.",
    ),
    "MX332": Code(
        title="the host is not as the lock requires",
        meaning="A host requirement of the lock does not hold on this node, or what it speaks of "
        "could not be read.",
        how="The lock's host requirement was held against the facts of the node.",
        remedy="Change the host as the requirement says, or lock for this host.",
    ),
    "MX333": Code(
        title="libraries of the driver in the image",
        meaning="A container is given libraries of the host's driver. They need a glibc as new as "
        "the one that they were built with, and the image's counts, not the host's. Where they "
        "could not be read, a host with no newer glibc than the image is proof enough.",
        how="The newest version of glibc that the driver's libraries on the node need was compared "
        "with the glibc that the lock says its base has.",
        remedy="Take a base image with a newer system; or take the snapshot on the node itself.",
    ),
    "MX334": Code(
        title="machine of the node",
        meaning="An image is for one kind of machine, as x86_64 or aarch64; another one cannot "
        "run it.",
        how="The platform in the lock was compared with what the node says that it is.",
        remedy="Take the image that was locked for this kind of machine.",
    ),
    "MX335": Code(
        title="the lock of the image",
        meaning="Which lock an image was made from, as told without its layers: by its manifest, "
        "or by the digest in its configuration.",
        how="The digest was compared with that of the lock.",
        remedy="Name the lock that the image was built from.",
    ),
    "MX340": Code(
        title="what goes with the image agrees",
        meaning="Lock, snapshot, verdict, SBOM and provenance are attached to the image, and speak "
        "of this image and its lock; where a key was named, they are those that it vouches for.",
        how="Each document was read by digest and held against the lock and the manifest.",
        remedy="Nothing to do.",
    ),
    "MX341": Code(
        title="something that goes with the image is missing",
        meaning="A document that a build attaches is not attached, or could not be read. Copying "
        "an image without its referrers leaves them behind.",
        how="The image's referrers were listed: by the registry's own list, by the tag that stands "
        "for it, or by the index of the layout.",
        remedy="Run `mxenv build` again to the same place, or copy the image with its referrers.",
    ),
    "MX342": Code(
        title="something that goes with the image is wrong",
        meaning="A document that is attached speaks of another image, or of another lock, or "
        "leaves something out.",
        how="Each document was read by digest and held against the lock and the manifest.",
        remedy="Do not use this image before you know who attached it.",
    ),
    "MX343": Code(
        title="attached by somebody",
        meaning="Something else is attached that claims to be of mxenv's kinds, and is not: cut "
        "off, of another image, too large, or one of very many. It counts for nothing.",
        how="Of each kind a bounded number of referrers was read; the rest was counted.",
        remedy="Whoever may write to the repository can attach things; remove them if they are in "
        "the way.",
    ),
    "MX350": Code(
        title="signed by a key that was named",
        meaning="One of the keys signed a statement on this very manifest, and on every document "
        "that goes with it.",
        how="The signature (DSSE, Ed25519) was verified, and the digest in its statement compared "
        "with the manifest's.",
        remedy="Nothing to do.",
    ),
    "MX351": Code(
        title="not signed",
        meaning="A key was named, and no signature is attached to the image.",
        how="The image's referrers were listed.",
        remedy="Build it with `mxenv build --sign KEY`, or copy it with its referrers.",
    ),
    "MX352": Code(
        title="not signed by a key that was named",
        meaning="There are signatures, and none is by one of the keys over this image's manifest.",
        how="Every signature was held against every key, and its statement against the manifest.",
        remedy="Do not use this image before you know who signed it; or name the right key.",
    ),
    "MX353": Code(
        title="other signatures",
        meaning="Beside the signature that counts there are others, by keys that were not named.",
        how="Every signature was held against every key that was named.",
        remedy="Nothing to do.",
    ),
    "MX354": Code(
        title="nobody vouches for the lock",
        meaning="The image was held against the lock that it brings itself, and no key was named: "
        "that both agree says nothing of who made them.",
        how="Neither a lock nor a key was named.",
        remedy="Name the lock that you know, or the key of those who build: --key PUB.",
    ),
    # MX4xx: what a gate lets through.
    "MX401": Code(
        title="not locked",
        meaning="There is an image description, and no lock that was made from it.",
        how="The lock was looked for where the project keeps it: lockfiles/pylock.NAME.toml.",
        remedy="`mxenv lock images/NAME/image.toml`, and commit the lock.",
    ),
    "MX402": Code(
        title="the lock is stale",
        meaning="The image description, a file that it adds, an inventory that it names or the "
        "record of its base is not there, or not what the lock was made from.",
        how="The digests of all of them were compared with those in the lock.",
        remedy="`mxenv lock images/NAME/image.toml`, and commit the lock.",
    ),
    "MX403": Code(
        title="the lock is fresh",
        meaning="The lock was made from the image description as it is.",
        how="The digest of the image description, with the files that it adds, is the one "
        "in the lock.",
        remedy="Nothing to do.",
    ),
    "MX404": Code(
        title="whether the lock is fresh is unknown",
        meaning="The image description that the lock was made from is not there to compare with.",
        how="The image description was looked for at images/NAME/image.toml.",
        remedy="Keep images/NAME/image.toml and lockfiles/pylock.NAME.toml in one project.",
    ),
    "MX405": Code(
        title="a vendor's build in an image for no accelerator",
        meaning='The image description says accelerator = "none", so no matrix is asked; but one '
        "of the packages carries a vendor's build tag, or the base has the vendor's SDK.",
        how="The versions in the lock were looked at for a vendor's build tag, and the "
        "facts of its base for a vendor's.",
        remedy="Name the accelerator in image.toml, or take the public build.",
    ),
    "MX406": Code(
        title="nothing for an accelerator",
        meaning='The image description says accelerator = "none", and no package carries a '
        "vendor's build tag, so there is nothing that a matrix could be asked.",
        how="The versions in the lock were looked at for a vendor's build tag, and the "
        "facts of its base for a vendor's.",
        remedy="Nothing to do.",
    ),
    "MX407": Code(
        title="waiver proposed",
        meaning="What is judged brings a waiver with it. What is judged cannot excuse itself: the "
        "waiver counts only if whoever runs the gate allows it.",
        how="The waivers of what is judged were read, and not applied.",
        remedy="Run the gate with --allow-waivers, if that is for you to decide.",
    ),
    "MX408": Code(
        title="rows proposed",
        meaning="What is judged brings rows of a matrix with it. What is judged cannot say that "
        "it is known to work: rows count only if whoever runs the gate names their file.",
        how="The folder matrices/ of what is judged was listed, and none of its files read.",
        remedy="Run the gate with --matrix FILE, if that is for you to decide.",
    ),
    "MX410": Code(
        title="nothing contradicts",
        meaning="Every line of the file that asks for something was read, and nothing in it "
        "contradicts the images of the project or its other files. That they are known to work is "
        "what the findings of the locks say.",
        how="Every line was read as the tool reads it that the file is for.",
        remedy="Nothing to do.",
    ),
    "MX411": Code(
        title="the vendor's build would be replaced",
        meaning="A line asks for a version that the vendor's build is not, or for the newest. The "
        "vendor's build (2.8.0+metax3.5.3.9) sorts below every newer public version, so that pip "
        "takes a public build instead, which knows nothing of the card.",
        how="The version that the line asks for was held against the builds that the locks say "
        "their bases have, or without a lock those that the matrix names, in the order of PEP 440.",
        remedy="Ask for the vendor's build, or leave it out: the base has it.",
    ),
    "MX412": Code(
        title="the vendor's build may be replaced",
        meaning="Whether a line replaces a build of the vendor cannot be told: no lock says which "
        "build, or which SDK, the base has, nothing says which cards it is for, or a variable "
        "decides which version is asked for.",
        how="The line was read; what it asks for, or what the base has, is not written down.",
        remedy="Lock the image, or write the version down.",
    ),
    "MX413": Code(
        title="a build for CUDA",
        meaning="A version tag (+cu126), an address (…/whl/cu126) or a name says that it is built "
        "for CUDA, and the images of the project are for another vendor's cards; or nothing says "
        "what they are for.",
        how="The line's version, address and names were read.",
        remedy="Take the vendor's build.",
    ),
    "MX414": Code(
        title="without the vendor's plugin",
        meaning="The public wheels of this distribution are CUDA builds. What runs it on the "
        "vendor's cards is a plugin, which nothing here brings; without a lock, whether the base "
        "brings it is unknown.",
        how="The distribution was found in a line, and its plugin in no other line and in no lock.",
        remedy="Take an image of one release of the plugin, or lock the plugin beside it.",
    ),
    "MX415": Code(
        title="the base is not pinned",
        meaning="A Containerfile names its base without a digest. A tag can be moved, so this is "
        "unknown; without a tag, or with latest, it is whatever is newest, which is incompatible "
        "with knowing what runs.",
        how="Every FROM of the Containerfile was read, with the stages that it names.",
        remedy="Name the digest: `FROM NAME:TAG@sha256:…`.",
    ),
    "MX416": Code(
        title="pinned differently",
        meaning="Two lines pin one distribution, or one pins what the other excludes, and both can "
        "count in one environment on Linux: they stand in one file or folder, one file names the "
        "other, or one of them is a lock. A pin and a range in two files of one folder, of which "
        "none names the other, may be two environments: that is unknown.",
        how="The versions that all lines of the project allow were compared.",
        remedy="Say it once, or the same in both.",
    ),
    "MX417": Code(
        title="not understood",
        meaning="A line that could ask for something cannot be understood, so nothing is known of "
        "what it does.",
        how="The line was read as the tool reads it that the file is for.",
        remedy="Correct the line.",
    ),
    "MX418": Code(
        title="a file that is not read",
        meaning="A line names another file that is not there, lies elsewhere, or is a link that "
        "leads out of what is judged. Nothing outside is read, and what it asks for is unknown.",
        how="The file that the line names was looked for inside of what is judged.",
        remedy="Keep the file in the project.",
    ),
    # MX5xx: mxenv itself, as `mxenv doctor` finds it.
    "MX501": Code(
        title="the Python that runs mxenv",
        meaning="Which Python runs mxenv, and where it is installed.",
        how="The running interpreter was asked.",
        remedy="Nothing to do.",
    ),
    "MX502": Code(
        title="the cache",
        meaning="Layers that were built are kept in a folder, which must be writable.",
        how="A file was written into the folder, and removed.",
        remedy="Set MXENV_CACHE_DIR to a folder that you may write to.",
    ),
    "MX503": Code(
        title="uv",
        meaning="`mxenv lock` resolves requirements with uv, which is installed with mxenv.",
        how="The program was started with --version.",
        remedy="Install mxenv again.",
    ),
    "MX504": Code(
        title="the package index",
        meaning="Where packages come from is uv's configuration. It is not asked here; variables "
        "are named without their values, which may hold credentials.",
        how="The variables that uv reads were looked at.",
        remedy="Set UV_DEFAULT_INDEX or UV_FIND_LINKS, or write a uv.toml.",
    ),
    "MX505": Code(
        title="a container engine",
        meaning="Whether an engine's socket is there. The engine oci needs none.",
        how="The socket was looked for, and whether it may be used.",
        remedy="Nothing to do.",
    ),
    "MX506": Code(
        title="the matrix",
        meaning="Whether the shipped rows, and those of --matrix, can be read.",
        how="All files were read, as every check does.",
        remedy="Correct the file that is named; a row needs evidence.",
    ),
    # MX6xx: what a model asks for, against a card.
    "MX601": Code(
        title="the number format of the weights",
        meaning="Whether a card holds the format that weights are in. A format that it holds and "
        "does not compute in is unpacked when it runs, which is slower and right.",
        how="The headers of the files of weights, and the configuration, were held against the "
        "[[format]] rows of the matrix; where these contradict each other, the worst counts.",
        remedy="Unpack the weights into a format that the card has, or take another checkpoint.",
    ),
    "MX602": Code(
        title="the number format that is computed in",
        meaning="Whether a card computes in the format of a model's activations. It is unknown "
        "where the card holds the format only: nobody says that products in it are right.",
        how="What the configuration and the files of weights say of activations was held against "
        "the [[format]] rows of the matrix; where these contradict each other, the worst counts.",
        remedy="Compute in a format that the card has, or take another checkpoint.",
    ),
    "MX603": Code(
        title="the memory of the weights",
        meaning="What the weights take, beside the memory of the cards. It is told and counts "
        "neither way: whatever runs needs more than its weights, and a model can be split.",
        how="The sizes in the headers of the files of weights were added up, and held against the "
        "memory of the cards, or of the parts of one that are given out, in the snapshot.",
        remedy="Split the model over more cards, or take one that is packed more tightly.",
    ),
    "MX604": Code(
        title="no card to hold a model against",
        meaning="The platform has no card, or its cards could not be read.",
        how="The models of card in the snapshot were looked at.",
        remedy="Name a node that has the card, or the model of card, as --platform C500.",
    ),
    "MX610": Code(
        title="operators that a platform has",
        meaning="The platform's own build of torch has a kernel for them, or does them by way of "
        "others that it has. Registered is not yet working: how well each is known to work is said "
        "(registered, ran, verified).",
        how=_OPERATORS,
        remedy="Nothing to do; `mxenv ops MODEL --run` on a card shows that they work.",
    ),
    "MX611": Code(
        title="kernels past the dispatcher",
        meaning="The model launches kernels that no dispatcher knows, so that no table of "
        "operators says whether the platform has them.",
        how="The inventory names them.",
        remedy="Scan their source code with `mxenv ops`, and run them on the card.",
    ),
    "MX612": Code(
        title="an operator that a platform lacks",
        meaning="The platform's own build of torch has no kernel for it and does not know it, or a "
        "row of the matrix has it failing there: refused, wrong, or taking the process with it.",
        how=_OPERATORS,
        remedy="Call something else there, or take a build of torch that has it.",
    ),
    "MX613": Code(
        title="an operator that falls back on the CPU",
        meaning="Without a word its data goes to the CPU and back: right, and slow. It is unknown "
        "until somebody says that this is good enough.",
        how=_OPERATORS,
        remedy="Keep it off the path that counts, or answer for it with [[waivers]].",
    ),
    "MX614": Code(
        title="an operator that was added to torch",
        meaning="A library or the model itself brings it, and in the build that was asked nobody "
        "has registered it for the platform.",
        how=_OPERATORS,
        remedy="Build what brings it for the platform, or take the vendor's; `mxenv ops TREE` "
        "names what has to be changed in its source code.",
    ),
    "MX615": Code(
        title="an operator of which nothing is known",
        meaning="The platform's own build of torch was not asked, or does not tell; or a row of "
        "the matrix leaves open whether it works there.",
        how=_OPERATORS,
        remedy="Ask the platform's own torch with `mxenv probe --operators`, or run it there.",
    ),
    "MX620": Code(
        title="places in code that a port has to look at",
        meaning="Code that is bound to NVIDIA's hardware, compiler or libraries. Where the "
        "vendor's tools cover it nothing has to be changed; all else is work, and unknown until "
        "it is done.",
        how="Python was parsed, CUDA and C++ were read as a compiler's lexer does, and nothing was "
        "run; what is alike in one file is one place. docs/explanation/porting.md says on what "
        "each kind rests.",
        remedy="Change the place, or answer for it with [[waivers]] once it is ported.",
    ),
    "MX621": Code(
        title="code beside the main one",
        meaning="Tests, vendored code and what is meant for other platforms has hits as well. "
        "They are told, and no places to change.",
        how="Whose code a file is was taken from its path.",
        remedy="Look at vendored code if it is built; tests are needed to prove a port.",
    ),
    "MX622": Code(
        title="places of a kind that is not known",
        meaning="An inventory has places that this mxenv does not know, so nothing is known of "
        "what they ask for.",
        how="The kinds in the inventory were compared with those that are known here.",
        remedy="Use a newer mxenv, or make the inventory again.",
    ),
    "MX630": Code(
        title="what an inventory does not know",
        meaning="Something of the model was not looked at, or could not be. What is not known may "
        "be what fails.",
        how="Whatever read the model says where it could not look.",
        remedy="Read the model again where that can be seen, run it on the card, or answer for "
        "what is not known with [[waivers]].",
    ),
    "MX631": Code(
        title="what was assumed",
        meaning="To look at a model without running it, something had to be guessed.",
        how="Whatever read the model says what it guessed.",
        remedy="Hold it against a run of the model.",
    ),
    "MX640": Code(
        title="an operator that fails on the device",
        meaning="An operator of the model was run on the device with arguments of the recorded "
        "form, and ended the process, did not come back, or gave numbers that are further from "
        "right than its format makes them.",
        how="Its results were held against the same in float64 on the CPU, and against what the "
        "CPU achieves in the same format; docs/decisions/0018-running-operators.md has the rule.",
        remedy="Do without it, or take a build of torch in which it is mended.",
    ),
    "MX641": Code(
        title="an operator that the device refuses",
        meaning="The device does not have an operator of the model, or not in this format. Of "
        "several that a device chooses from it need not have each, which is then unknown.",
        how="It was called on the device, and what torch raised was read.",
        remedy="Take another format, or an operator that the device has.",
    ),
    "MX642": Code(
        title="products as coarse as TF32",
        meaning="Products of float32 are taken to ten bits, which is switched on. Whether that is "
        "enough is for whoever uses the model to say.",
        how="The results were held against float64, and torch was asked for its switches.",
        remedy='Switch it off (torch.set_float32_matmul_precision("highest"), '
        "torch.backends.cudnn.allow_tf32 = False) and run them again, or answer for it.",
    ),
    "MX643": Code(
        title="operators that were not run to an answer",
        meaning="Nothing is known of them on this device: no legal arguments are known, they are "
        "too large, the CPU cannot say what is right, or a kernel is launched past the dispatcher.",
        how="The reason stands beside each; the file of results has every set of arguments.",
        remedy="Run the model on the device.",
    ),
    "MX644": Code(
        title="operators that ran",
        meaning="They came to an end on the device, and there is nothing that their numbers could "
        "be compared with: they are random, not defined, or not defined in one way.",
        how="They were called on the device; numbers that are none would have been told.",
        remedy="Nothing to do.",
    ),
    "MX645": Code(
        title="operators that are verified",
        meaning="Their numbers on the device are as good as their format allows.",
        how="The results were held against the same in float64 on the CPU, and against what the "
        "CPU achieves in the same format. On the CPU itself that shows no rounding.",
        remedy="Nothing to do.",
    ),
}


def explain(code: str) -> Code | None:
    """Return what ``code`` stands for, if it stands for anything."""
    return CODES.get(code.strip().upper())
