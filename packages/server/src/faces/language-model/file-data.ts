/** Bytes as base64; a string is that already. */
export function dataOf(data: Uint8Array | string): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64')
}
