import { stat } from 'node:fs/promises'
import { defined, ParleyError } from '@parley/protocol'
import type { SessionFolder } from '../core/session-folder.ts'
import { headOf } from './head.ts'
import { inWorkTree } from './in-work-tree.ts'
import { keepTree } from './shadow.ts'
import type { ShadowFolder } from './shadow-folder.ts'
import type { TakenTree } from './snapshot.ts'

type Parts = {
  open(folder: string): Promise<ShadowFolder>
  take(at: ShadowFolder, sessionId: string): Promise<TakenTree>
  inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result>
}

/** The restoration methods of a session folder. Their code is loaded on first use. */
export function restoring({ open, take, inTurn }: Parts): Pick<SessionFolder, 'compare' | 'plan' | 'move'> {
  return {
    async compare(folder, { sessionId, trees }) {
      await expectFolder(folder)
      const at = await open(folder)
      const { actionsTo, stepsBetween } = await import('./restoration.ts')
      const head = headOf(at.repository.look)
      const { tree: now, leftOut } = await take(at, sessionId)
      return inTurn(at.shadow.gitDir, async () => {
        const steps = await stepsBetween(at, [...trees, now])
        const files = await actionsTo(at, now, trees[0] ?? now)
        return { now: { tree: now, leftOut, ...defined({ head: await head }) }, steps, files }
      })
    },
    async plan(folder, { sessionId, ...wanted }) {
      const at = await open(folder)
      for (const path of wanted.paths) inWorkTree({ folder, workTree: at.shadow.workTree }, path)
      const { planRestore } = await import('./restoration.ts')
      return inTurn(at.shadow.gitDir, async () => {
        const planned = await planRestore(at, wanted)
        await keepTree(at.shadow, sessionId, planned.tree)
        return planned
      })
    },
    async move(folder, { sessionId, ...move }) {
      await expectFolder(folder)
      const at = await open(folder)
      const { moveFiles } = await import('./restoration.ts')
      return inTurn(at.shadow.gitDir, async () => {
        const moved = await moveFiles(at, move)
        await keepTree(at.shadow, sessionId, moved.before)
        await keepTree(at.shadow, sessionId, moved.after)
        return moved
      })
    },
  }
}

async function expectFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory()) return
  const message = `The folder ${folder} does not exist any more, so no file can be restored.`
  throw new ParleyError('conflict', message, { details: { missing: 'folder' } })
}
