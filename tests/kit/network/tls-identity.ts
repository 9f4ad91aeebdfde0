/**
 * `createTlsIdentity` creates a key and a self-signed certificate for 127.0.0.1 with the command `openssl`. They are
 * valid for one day. Leaves no file.
 */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TlsIdentity } from "../model-servers/model-server.ts";

const run = promisify(execFile);

export async function createTlsIdentity(): Promise<TlsIdentity> {
  const folder = await mkdtemp(join(tmpdir(), "turnstream-tls-"));
  const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  try {
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
    const names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
    await run("openssl", ["req", "-x509", ...key, ...names, "-days", "1", "-out", certFile]);
    return { key: await readFile(keyFile, "utf8"), cert: await readFile(certFile, "utf8") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
