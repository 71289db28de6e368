/**
 * Where one goes on in a list after the row that had the focus has left its place: to the row itself if it is
 * elsewhere in the list now, else to the one that came after it, else to the one before. Undefined where none is left.
 */
export function neighbourOf(
  gone: string,
  before: readonly string[],
  after: readonly string[],
): string | undefined {
  const place = before.indexOf(gone)
  const nearest = [gone, ...before.slice(place + 1), ...before.slice(0, Math.max(0, place)).toReversed()]
  return nearest.find((id) => after.includes(id)) ?? after[0]
}
