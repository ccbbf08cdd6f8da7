"""Write the software bill of materials of a built wheel: CycloneDX, as JSON.

    python .ci/sbom.py dist/covshift-0.9.0-py3-none-any.whl cli > covshift-0.9.0.cdx.json

It asks pip what it would install for the wheel and its extras, here and today, and does not do it.
The wheel itself pins nothing: the bill says with which versions it was checked. `packaging`, which
`build` brings along, reads the requirements. Licences need pip 25 or newer.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SPECIFICATION = "1.6"


def main() -> None:
    wheel, extras = Path(sys.argv[1]), tuple(sys.argv[2:])
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run"]
    command += ["--ignore-installed", "--report", "-", wanted]
    report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    print(json.dumps(bill(report, extras, digest, now), indent=2))


def bill(report: dict[str, Any], extras: tuple[str, ...], digest: str, now: int) -> dict[str, Any]:
    """Return the bill of what pip's installation report lists; covshift is what it is of."""
    items = {canonicalize_name(item["metadata"]["name"]): item for item in report["install"]}
    environment = report["environment"]
    parts = {name: _component(item) for name, item in items.items()}
    own = parts.pop("covshift")
    own |= {"type": "library", "hashes": [{"alg": "SHA-256", "content": digest}]}
    needs = {
        name: _needs(item["metadata"], extras if name == "covshift" else (), environment)
        for name, item in items.items()
    }
    refs = {name: part["bom-ref"] for name, part in {"covshift": own, **parts}.items()}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(refs) + digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
            "component": own,
            "properties": [
                {"name": "python", "value": environment["python_full_version"]},
                {"name": "extras", "value": ", ".join(extras) or "none"},
            ],
        },
        "components": [parts[name] for name in sorted(parts)],
        "dependencies": [
            {"ref": refs[name], "dependsOn": sorted(refs[need] for need in needs[name] & set(refs))}
            for name in sorted(refs)
        ],
    }


def _component(item: dict[str, Any]) -> dict[str, Any]:
    metadata = item["metadata"]
    name, version = canonicalize_name(metadata["name"]), metadata["version"]
    address = f"pkg:pypi/{name}@{version}"
    found = {
        "type": "library",
        "bom-ref": address,
        "name": metadata["name"],
        "version": version,
        "purl": address,
    }
    hashes = item.get("download_info", {}).get("archive_info", {}).get("hashes", {})
    if "sha256" in hashes:
        found["hashes"] = [{"alg": "SHA-256", "content": hashes["sha256"]}]
    if licence := _licence(metadata):
        found["licenses"] = [licence]
    return found


def _licence(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Its expression where it has one, else its name in one line, else its classifiers."""
    if expression := metadata.get("license_expression"):
        return {"expression": expression}
    name = (metadata.get("license") or "").strip()
    if name and "\n" not in name and len(name) < 100:
        return {"license": {"name": name}}
    lines = metadata.get("classifier", [])
    named = [line.rpartition(" :: ")[2] for line in lines if re.match("License ::", line)]
    return {"license": {"name": " or ".join(named)}} if named else None


def _needs(
    metadata: dict[str, Any], extras: tuple[str, ...], environment: dict[str, str]
) -> set[str]:
    found = set()
    for line in metadata.get("requires_dist", []):
        requirement = Requirement(line)
        asked = [{**environment, "extra": extra} for extra in ("", *extras)]
        if requirement.marker is None or any(map(requirement.marker.evaluate, asked)):
            found.add(canonicalize_name(requirement.name))
    return found


if __name__ == "__main__":
    main()
