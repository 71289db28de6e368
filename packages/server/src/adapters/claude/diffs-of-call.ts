import { type Diff, isRecord } from '@parley/protocol'
import { diffOfReplacing, diffOfWriting, type Replacement, readForDiff, type Session } from '../file-diff.ts'

type Input = Readonly<Record<string, unknown>>

/** The change that a call of one of Claude's file tools would make. */
export async function diffsOfCall(name: string, input: Input, session: Session): Promise<{ diffs?: Diff[] }> {
  const diff = await diffOfCall(name, input, session)
  return diff ? { diffs: [diff] } : {}
}

async function diffOfCall(name: string, input: Input, session: Session): Promise<Diff | undefined> {
  const path = input.file_path ?? input.notebook_path
  if (typeof path !== 'string' || path === '') return undefined
  switch (name) {
    case 'Write':
      return typeof input.content === 'string' ? diffOfWriting(path, input.content, session) : undefined
    case 'Edit':
    case 'MultiEdit': {
      const edits = name === 'Edit' ? [input] : Array.isArray(input.edits) ? input.edits : []
      const replacements = edits.map(replacementOf)
      return replacements.length > 0 && replacements.every((one) => one !== undefined)
        ? diffOfReplacing(path, replacements, session)
        : undefined
    }
    case 'NotebookEdit':
      return diffOfCell(path, input, session)
    default:
      return undefined
  }
}

function replacementOf(edit: unknown): Replacement | undefined {
  if (!isRecord(edit)) return undefined
  const { old_string: old, new_string: now, replace_all: everywhere } = edit
  if (typeof old !== 'string' || typeof now !== 'string') return undefined
  return { old, new: now, ...(everywhere === true && { everywhere }) }
}

/** The diff of one notebook cell by its source: the JSON file around it is not readable. */
async function diffOfCell(path: string, input: Input, session: Session): Promise<Diff | undefined> {
  const { cell_id: id, new_source: source, edit_mode: mode = 'replace' } = input
  if (typeof source !== 'string') return undefined
  const before = mode === 'insert' ? '' : cellSource(await readForDiff(path, session), id)
  const after = mode === 'delete' ? '' : source
  return before === undefined ? { path, after } : { path, before, after }
}

function cellSource(notebook: string | null | undefined, id: unknown): string | undefined {
  try {
    const { cells } = JSON.parse(notebook ?? '') as { cells: { id?: string; source?: string | string[] }[] }
    const index = typeof id === 'string' ? /^cell-(\d+)$/.exec(id)?.[1] : undefined
    const cell = cells.find((one) => one.id === id) ?? cells[Number(index ?? Number.NaN)]
    return cell && [cell.source ?? ''].flat().join('')
  } catch {
    return undefined
  }
}
