import { ParleyError, type RewindPreview } from '@parley/protocol'
import { describe, expect, it } from 'vitest'
import {
  canRestore,
  chosenFiles,
  doneText,
  filesProblem,
  limitsOf,
  noFilesText,
  tickedFirst,
} from './go-back.logic.ts'

const preview: RewindPreview = {
  seen: 'a'.repeat(40),
  files: [
    { path: 'a.txt', action: 'change' },
    { path: 'b.txt', action: 'delete', left: 'changed-since' },
    { path: 'c.txt', action: 'create', left: 'not-stored' },
  ],
  cut: false,
  leftOut: [],
}

describe('the files of a rewind', () => {
  it('are ticked at first if only the session changed them, and can be ticked if they can be restored', () => {
    expect([...tickedFirst(preview)]).toEqual(['a.txt'])
    expect(preview.files.map(canRestore)).toEqual([true, true, false])
  })

  it('are named only if the person chose others, so that files that are not listed are restored too', () => {
    const { seen } = preview
    expect(chosenFiles(preview, new Set(['a.txt']))).toEqual({ seen })
    expect(chosenFiles(preview, new Set(['a.txt', 'b.txt']))).toEqual({ seen, paths: ['a.txt', 'b.txt'] })
  })

  it('are listed with the changes that the rewind does not undo', () => {
    const leftOut = ['1', '2', '3', '4'].map((path) => ({ path, reason: 'large' }))
    const limits = limitsOf({ ...preview, leftOut, late: true, commits: true, cut: true })
    expect(limits.slice(0, 3)).toEqual([
      'No snapshot contains 1, 2, 3 and 1 more, so these files are not restored.',
      'A command had begun before the snapshot was complete, so the snapshot may contain some of the command’s changes.',
      'Commits since the prompt stay, and the branch does not move.',
    ])
    expect(limits).toHaveLength(5)
    expect(limitsOf(preview)).toHaveLength(1)
  })

  it('are missing for a reason: the snapshot is late, leaves files out, or does not exist', () => {
    const none: RewindPreview = { ...preview, files: [] }
    expect(noFilesText({ ...none, late: true })).toContain('may be in the snapshot already')
    expect(noFilesText({ ...none, leftOut: [{ path: 'a.bin', reason: 'large' }] })).toContain('leave out')
    expect(noFilesText(none)).toContain('the session has changed none')
    const missing = new ParleyError('conflict', 'x', { details: { missing: 'snapshot' } })
    expect(filesProblem(missing)).toContain('no snapshot of the folder from before this prompt')
    expect(filesProblem(new ParleyError('conflict', 'Wait.'))).toBe('Wait.')
  })

  it('are named in the result, with the turns that were taken back', () => {
    expect([doneText(true, 2), doneText(true, undefined), doneText(false, 1)]).toEqual([
      'Restored files and took 2 turns back.',
      'Restored files.',
      'Took 1 turn back.',
    ])
  })
})
