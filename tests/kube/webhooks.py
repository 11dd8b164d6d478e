"""An admission webhook on loopback, with a certificate made at run time."""
import base64
import http.server
import json
import os
import ssl
import subprocess
import threading

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


class Server:
    """Answers AdmissionReviews: `answers[path]` is called with the pod and gives a JSON patch, a refusal (text) or an
    HTTP status (int)."""

    def __init__(self, folder):
        certificate, key = os.path.join(folder, "webhook.crt"), os.path.join(folder, "webhook.key")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=webhook",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        with open(certificate, "rb") as f:
            self.ca = base64.b64encode(f.read()).decode()
        self.answers = {}
        self.calls = {}
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.answer(self, review["request"])

            def log_message(self, *_):
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._http.server_address[1]}"
        self._lock = threading.Lock()
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def answer(self, handler, request):
        path = handler.path.split("?")[0]
        with self._lock:
            self.calls[path] = self.calls.get(path, 0) + 1
            call = self.calls[path]
        said = self.answers[path](request["object"], call)
        response = {"uid": request["uid"], "allowed": not isinstance(said, str)}
        if isinstance(said, str):
            response["status"] = {"code": 403, "message": said}
        elif isinstance(said, list):
            response["patchType"] = "JSONPatch"
            response["patch"] = base64.b64encode(json.dumps(said).encode()).decode()
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
        try:
            handler.send_response(said if isinstance(said, int) else 200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        except OSError:
            pass  # the API server has given up

    def register(self, cluster, ns, answer, **options):
        """Every pod that is created in the namespace is shown to `answer(pod, number of the call)`."""
        self.answers[f"/{ns}"] = answer
        webhook = {
            "name": f"{ns}.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "clientConfig": {"url": f"{self.url}/{ns}", "caBundle": self.ca},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }
        cluster.api.create(CONFIGURATIONS, {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": ns}, "webhooks": [webhook | options]})
