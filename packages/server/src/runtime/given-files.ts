/** Reads an artifact as a tool gives it: one that can be told, or a file that has to be kept first. Pure. */
import { type Artifact, artifactMisfit, blobAddress, type Json, type Misfit } from "@turnstream/protocol";
import type { FileData, GivenArtifact } from "./define/tool.ts";
import { isObject } from "../util/json.ts";

const MAX_BYTES = 20 * 1024 * 1024;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9.+-]{0,90}\/[a-z0-9][a-z0-9.+-]{0,90}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** An artifact that no client could show. The model reads which field is wrong. */
class ArtifactError extends TypeError {
  readonly code = "BAD_ARTIFACT";
  readonly field: string;

  constructor({ field, problem }: Misfit) {
    super(`${field} ${problem}`);
    this.name = "ArtifactError";
    this.field = field;
  }
}

interface GivenFile {
  readonly name: string;
  readonly mediaType: string;
  readonly body: Uint8Array;
  /** What is told of it, once it is kept. */
  artifact(blob: string): Artifact;
}

/** Null for an artifact that is told as it is. Throws an ArtifactError for one that can't be shown. */
export function readArtifact(given: GivenArtifact): GivenFile | null {
  if (!isFile(given)) {
    const misfit = artifactMisfit(given);
    if (misfit !== null) throw new ArtifactError(misfit);
    return null;
  }
  const { name, data, mediaType, ...odd } = given.data;
  const [unknown] = Object.keys(odd);
  if (unknown !== undefined) throw wrong(unknown, "is not known here");
  const type = typeof mediaType === "string" ? mediaType.toLowerCase() : "";
  if (!MEDIA_TYPE.test(type)) throw wrong("mediaType", "has to be one such as application/pdf");
  const body = typeof data === "string" ? fromBase64(data) : data;
  if (!(body instanceof Uint8Array)) throw wrong("data", "has to be bytes, or base64");
  if (body.byteLength > MAX_BYTES) throw wrong("data", `has to be at most ${MAX_BYTES} bytes`);
  const artifact = (blob: string): Artifact => {
    const told = { name, url: blobAddress(blob), media_type: type, size: body.byteLength };
    return { ...given, data: told };
  };
  const misfit = artifactMisfit(artifact("any"));
  if (misfit !== null) throw new ArtifactError(misfit);
  // A copy: the tool goes on, and may use its buffer again.
  return { name, mediaType: type, body: typeof data === "string" ? body : body.slice(), artifact };
}

function isFile(
  given: GivenArtifact,
): given is Exclude<GivenArtifact, Artifact> & { readonly data: FileData } {
  // A tool may be plain JavaScript.
  const { type, data } = isObject(given as Json) ? given : { type: "", data: null };
  return type === "file" && isObject(data as Json) && Object.hasOwn(data as object, "data");
}

function wrong(field: string, problem: string): ArtifactError {
  return new ArtifactError({ field: `artifact.data.${field}`, problem });
}

function fromBase64(data: string): Uint8Array {
  if (!BASE64.test(data)) throw wrong("data", "has to be base64");
  return Buffer.from(data, "base64");
}
