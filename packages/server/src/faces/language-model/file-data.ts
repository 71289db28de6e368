/** Bytes as base64. A string is base64 already. */
export function dataOf(data: Uint8Array | string): string {
  return typeof data === 'string' ? data : Buffer.from(data).toString('base64')
}
