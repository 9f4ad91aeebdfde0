/** The hash slot of a key in Redis Cluster: CRC16 (XMODEM) of its hash tag, or of the whole key. Pure. */

export const SLOTS = 16_384;

export function slotOf(key: string): number {
  return crc16(Buffer.from(hashTag(key))) % SLOTS;
}

function hashTag(key: string): string {
  const open = key.indexOf("{");
  const close = key.indexOf("}", open + 1);
  return open < 0 || close <= open + 1 ? key : key.slice(open + 1, close);
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc;
}
