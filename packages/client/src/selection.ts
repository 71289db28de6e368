/**
 * A getSnapshot for a part of a store. The same snapshot gives the same part. If a new part equals the shown
 * part, the shown part is returned, even if the selector is a new function on every render.
 */
export function createSelection<Snapshot, Part>(input: {
  readonly getSnapshot: () => Snapshot
  readonly selector: (snapshot: Snapshot) => Part
  readonly isEqual: (one: Part, other: Part) => boolean
  readonly shown: () => { readonly part: Part } | undefined
}): () => Part {
  const { getSnapshot, selector, isEqual, shown } = input
  let last: { readonly snapshot: Snapshot; readonly part: Part } | undefined
  return () => {
    const snapshot = getSnapshot()
    if (last?.snapshot === snapshot) return last.part
    const fresh = selector(snapshot)
    const before = last ?? shown()
    const part = before && isEqual(before.part, fresh) ? before.part : fresh
    last = { snapshot, part }
    return part
  }
}
