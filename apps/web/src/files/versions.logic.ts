import type { KnownSnapshot, KnownSnapshots } from '@parley/protocol'

export type Version = { readonly rev: string; readonly label: string }

type Known = {
  readonly snapshots: KnownSnapshots | undefined
  readonly hasCommit: boolean
  readonly timeOf: (at: number) => string
}

/** The earlier versions of a file that can be shown, newest first. */
export function versionsOf({ snapshots, hasCommit, timeOf }: Known): readonly Version[] {
  const turns = snapshots?.turns.toReversed() ?? []
  const named: readonly (readonly [string, KnownSnapshot | undefined])[] = [
    ...turns.flatMap(({ before, after }, index) =>
      index === 0
        ? ([['Before the last turn', before]] as const)
        : ([
            [after ? `After the turn of ${timeOf(after.at)}` : '', after],
            [before ? `Before the turn of ${timeOf(before.at)}` : '', before],
          ] as const),
    ),
    ['At the first snapshot', snapshots?.first],
  ]
  const byTree = new Map<string, Version>()
  for (const [label, snapshot] of named)
    if (snapshot && !byTree.has(snapshot.tree)) byTree.set(snapshot.tree, { rev: snapshot.tree, label })
  return [...(hasCommit ? [{ rev: 'HEAD', label: 'In the last commit' }] : []), ...byTree.values()]
}

/** The versions, with the version of the address if that is not among them. */
export function withVersion(versions: readonly Version[], rev: string | undefined): readonly Version[] {
  if (rev === undefined || versions.some((version) => version.rev === rev)) return versions
  return [...versions, { rev, label: `Version ${rev.slice(0, 10)}` }]
}
