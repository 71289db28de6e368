import type { Block, SessionState } from '@parley/protocol'
import type { FolderFacts } from '../../core/hand-off-writer.ts'
import { item } from './quoted-text.ts'

const maxFiles = 40
const maxPlan = 40
const maxRefusals = 20

/** The facts of a session as a list, of at most `room` characters. */
export function factsText(
  state: Pick<SessionState, 'title' | 'cwd' | 'plan'>,
  timeline: readonly Block[],
  folder: FolderFacts,
  room: number,
): string {
  const lines = [
    item(`Session: ${state.title || 'without a title'}`),
    item(`Folder: ${state.cwd}`),
    ...(folder.branch === undefined ? [] : [item(`Branch: ${folder.branch}`)]),
    ...fileLines(timeline, folder),
    ...listed(
      state.plan.map(({ text, status }) => item(`Plan, ${status}: ${text}`)),
      maxPlan,
    ),
    ...listed(refusals(timeline), maxRefusals),
  ]
  let used = 0
  const fitting = lines.findIndex((line) => {
    used += line.length + 1
    return used > room - 50
  })
  if (fitting === -1) return lines.join('\n')
  return [...lines.slice(0, fitting), more(lines.length - fitting)].join('\n')
}

function fileLines(timeline: readonly Block[], { changes }: FolderFacts): string[] {
  if (!changes)
    return listed(
      [...editedFiles(timeline)].map((path) => item(`Edited by the agent: ${path}`)),
      maxFiles,
    )
  const lines = changes.map(({ path, added, removed }) => {
    const counts = added === undefined || removed === undefined ? '' : ` (+${added} −${removed})`
    return item(`Changed since the last commit: ${path}${counts}`)
  })
  return listed(lines, maxFiles)
}

/** The files that completed calls have edited, the last one first. */
function editedFiles(timeline: readonly Block[]): Set<string> {
  const paths = new Set<string>()
  for (let index = timeline.length - 1; index >= 0; index--) {
    const block = timeline[index]!
    if (block.type !== 'tool-call' || block.status !== 'completed') continue
    for (const content of block.content) if (content.type === 'diff') paths.add(content.path)
    if (block.kind === 'edit' || block.kind === 'delete' || block.kind === 'move')
      for (const { path } of block.locations ?? []) paths.add(path)
  }
  return paths
}

/** The refusals by people, the last one first. */
function refusals(timeline: readonly Block[]): string[] {
  return timeline
    .flatMap((block) => {
      if (block.type !== 'permission') return []
      const { request, resolution } = block
      if (resolution?.outcome !== 'denied' || resolution.by !== 'person') return []
      const reason = resolution.message ? `: ${resolution.message}` : ''
      return [item(`Refused by the person: ${request.tool}, ${request.title}${reason}`)]
    })
    .reverse()
}

function listed(lines: readonly string[], max: number): string[] {
  return lines.length <= max ? [...lines] : [...lines.slice(0, max), more(lines.length - max)]
}

const more = (count: number) => `- and ${count} more`
