/** `detectMediaType` determines the media type of a file by its bytes. Returns null if they have no known signature. */
export async function detectMediaType(bytes: Uint8Array): Promise<string | null> {
  const { fileTypeFromBuffer } = await import("file-type");
  return (await fileTypeFromBuffer(bytes))?.mime ?? null;
}
