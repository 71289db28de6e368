import type { AgentCommand } from '@parley/protocol'
import { useEffect, useId, useState } from 'react'
import type { Choice } from '../parts/choice-list.tsx'
import { type Completion, matchingCommands } from './completion.logic.ts'
import type { FindFiles } from './files.ts'

const noChoices: readonly Choice[] = []

/** The choices at the caret and which one is selected. The field keeps the focus and passes its keys on. */
export function useCompletions(input: {
  findFiles: FindFiles
  commands: readonly AgentCommand[]
  completion: Completion | undefined
}) {
  const { findFiles, commands, completion } = input
  const listId = useId()
  const [files, setFiles] = useState<readonly Choice[]>(noChoices)
  const [place, setPlace] = useState(0)
  const [dismissed, setDismissed] = useState<string>()
  const kind = completion?.kind
  const query = completion?.query ?? ''
  const stamp = kind && `${kind}:${completion?.from}`

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new query starts at its first choice
  useEffect(() => setPlace(0), [kind, query])
  useEffect(() => {
    if (kind !== 'file') return setFiles(noChoices)
    const controller = new AbortController()
    void findFiles(query, controller.signal).then((found) => {
      if (!controller.signal.aborted) setFiles(found.map((value) => ({ value })))
    })
    return () => controller.abort()
  }, [kind, query, findFiles])

  const fitting =
    kind === 'command'
      ? matchingCommands(commands, query).map(
          ({ name, description }): Choice => ({ value: name, ...(description && { note: description }) }),
        )
      : kind === 'file'
        ? files
        : noChoices
  const choices = stamp !== undefined && dismissed === stamp ? noChoices : fitting
  return {
    listId,
    choices,
    place: Math.min(place, Math.max(0, choices.length - 1)),
    move: (by: number) => setPlace((before) => (before + by + choices.length) % Math.max(1, choices.length)),
    dismiss: () => setDismissed(stamp),
  }
}
