/** A size in bytes, for people. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`
  if (bytes < 999_500) return `${(bytes / 1000).toPrecision(3).replace(/\.?0+$/, '')} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
