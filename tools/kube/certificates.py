"""Certificates of one throw-away control plane, made at start with openssl and valid for a week."""
import base64
import json
import os
import subprocess

_DAYS = "7"
_CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
[ca]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,digitalSignature
[server]
basicConstraints = CA:false
keyUsage = digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
[client]
basicConstraints = CA:false
keyUsage = digitalSignature
extendedKeyUsage = clientAuth
"""


class Certificates:
    """Files <name>.crt and <name>.key in `folder`; keys are readable by the owner alone."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(self.path("openssl.cnf"), "w") as f:
            f.write(_CONFIG)
        self._certificate("ca", "/CN=lockstep-test-ca", "ca", signer=None)
        self._certificate("apiserver", "/CN=kube-apiserver", "server")
        _openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out",
                 self.path("service-accounts.key"))
        _openssl("pkey", "-in", self.path("service-accounts.key"), "-pubout", "-out",
                 self.path("service-accounts.pub"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def kubeconfig(self, path, server, user, group=None):
        """Writes a kubeconfig (mode 0600) with a client certificate of `user`, everything embedded."""
        name = user.replace(":", "-")
        self._certificate(name, (f"/O={group}" if group else "") + f"/CN={user}", "client")
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lockstep", "cluster": {
                "server": server, "certificate-authority-data": self._base64("ca.crt")}}],
            "users": [{"name": user, "user": {
                "client-certificate-data": self._base64(f"{name}.crt"),
                "client-key-data": self._base64(f"{name}.key")}}],
            "contexts": [{"name": "lockstep", "context": {"cluster": "lockstep", "user": user}}],
            "current-context": "lockstep",
        }
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as f:
            json.dump(config, f, indent=2)  # every YAML reader takes JSON
            f.write("\n")

    def _certificate(self, name, subject, kind, signer="ca"):
        argv = ["req", "-x509", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-config", self.path("openssl.cnf"), "-extensions", kind, "-subj", subject, "-days", _DAYS,
                "-keyout", self.path(f"{name}.key"), "-out", self.path(f"{name}.crt")]
        if signer:
            argv += ["-CA", self.path(f"{signer}.crt"), "-CAkey", self.path(f"{signer}.key")]
        _openssl(*argv)

    def _base64(self, name):
        with open(self.path(name), "rb") as f:
            return base64.b64encode(f.read()).decode()


def _openssl(*argv):
    done = subprocess.run(["openssl", *argv], capture_output=True, text=True, umask=0o077)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(argv)}: {done.stderr.strip()}")
