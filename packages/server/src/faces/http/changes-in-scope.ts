import {
  type ChangeScope,
  type ChangeSide,
  type Changes,
  type Compared,
  defined,
  hasCode,
} from '@parley/protocol'
import type { Host, ScopedMoments } from '../../core/index.ts'
import type { Comparison, SeenFolder, Workspace } from '../../workspace/index.ts'

type Asked = {
  readonly host: Host
  readonly workspace: Workspace
  readonly sessionId: string
  readonly folder: SeenFolder
  readonly query: {
    readonly base: string
    readonly scope?: ChangeScope | undefined
    readonly side?: ChangeSide | undefined
    readonly turn?: string | undefined
  }
}

/** The changes that a query requests. If the query names a scope, the result says what was compared. */
export async function changesInScope(asked: Asked): Promise<Changes> {
  const { workspace, folder, query } = asked
  const { scope, side } = query
  if (side !== undefined) return workspace.changes(folder, { with: side })
  if (scope === undefined) return workspace.changes(folder, query.base)
  const { comparison, moments } = await comparisonOf(asked, scope)
  if (!comparison) return without(scope, moments)
  try {
    const { leftOut = [], baseBranch, ...changes } = await workspace.changes(folder, comparison)
    const named = [...(moments?.from?.leftOut ?? []), ...(moments?.to?.leftOut ?? leftOut)]
    const compared: Compared = {
      scope,
      ...sidesOf(comparison, moments, changes.base),
      ...defined({ turnId: moments?.turnId, shared: moments?.shared, marked: moments?.marked }),
      ...defined({ branch: baseBranch }),
      ...(named.length > 0 && { leftOut: uniquePaths(named) }),
    }
    return { ...changes, compared }
  } catch (error) {
    if (isMissing(error)) return without(scope, moments)
    throw error
  }
}

/** The patch of a file in a scope. With `all`, the file may be one that git does not list. */
export async function patchInScope(
  asked: Asked,
  { path, all }: { readonly path: string; readonly all: boolean },
): Promise<{ patch: string; cut: boolean }> {
  const { workspace, folder, query } = asked
  const { scope, side } = query
  if (side !== undefined) return workspace.patch(folder, path, { with: side })
  if (scope === undefined) return workspace.patch(folder, path, query.base)
  const { comparison } = await comparisonOf(asked, scope)
  if (!comparison) return { patch: '', cut: false }
  const isSnapshot = typeof comparison === 'object' && comparison.with === 'snapshot'
  const given = isSnapshot ? { ...comparison, all } : comparison
  return workspace.patch(folder, path, given).catch((error: unknown) => {
    if (isMissing(error)) return { patch: '', cut: false }
    throw error
  })
}

async function comparisonOf(
  { host, sessionId, query: { turn } }: Asked,
  scope: ChangeScope,
): Promise<{ comparison: Comparison | undefined; moments?: ScopedMoments }> {
  if (scope === 'commit') return { comparison: 'HEAD' }
  const moments = await host.changeScope(sessionId, { scope, turn })
  const { from, to, base, madeFrom } = moments
  if (scope === 'base') return { comparison: { with: 'base', ...defined({ branch: base, madeFrom }) } }
  return { moments, comparison: from && { with: 'snapshot', from: from.tree, ...defined({ to: to?.tree }) } }
}

function sidesOf(
  comparison: Comparison,
  moments: ScopedMoments | undefined,
  base: string,
): Pick<Compared, 'from' | 'to'> {
  const { from, to } = moments ?? {}
  if (typeof comparison === 'string' || comparison.with === 'base' || !from)
    return { from: base === '' ? {} : { commit: base }, to: { now: true } }
  return {
    from: { tree: from.tree, at: from.at, ...defined({ commit: from.head }) },
    to: to ? { tree: to.tree, at: to.at, ...defined({ commit: to.head }) } : { now: true },
  }
}

/** The answer if there is no snapshot to compare with. */
function without(scope: ChangeScope, moments: ScopedMoments | undefined): Changes {
  const { turnId, shared } = moments ?? {}
  const compared: Compared = { scope, from: {}, to: {}, marked: 'missing', ...defined({ turnId, shared }) }
  return { base: '', files: [], cut: false, compared }
}

const isMissing = (error: unknown) => hasCode(error, 'not_found') && error.details?.missing === 'snapshot'

function uniquePaths(named: NonNullable<Compared['leftOut']>): NonNullable<Compared['leftOut']> {
  return [...new Map(named.map((one) => [one.path, one])).values()]
}
