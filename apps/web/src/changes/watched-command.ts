import type { NewCommand } from '@parley/client'
import { newId, type Receipt } from '@parley/protocol'
import { useCallback, useState } from 'react'
import { client } from '../base/client.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { sessionSource } from '../session-data/session-source.ts'

/** Sends a command, and returns the output of its program until the command is done. */
export function useWatchedCommand() {
  const id = useSessionId()
  const [progress, setProgress] = useState('')
  const send = useCallback(
    async (command: NewCommand): Promise<Receipt> => {
      const commandId = newId('cmd')
      const { seq: after, epoch } = sessionSource(id).getSnapshot().view.state
      const watching = new AbortController()
      const onDelta = (delta: Parameters<NonNullable<Listener['onDelta']>>[0]) => {
        if (delta.type === 'command.progressed' && delta.commandId === commandId) setProgress(delta.text)
      }
      client.follow(id, { onDelta }, { after, epoch, signal: watching.signal })
      try {
        return await client.command(id, command, { commandId })
      } finally {
        watching.abort()
        setProgress('')
      }
    },
    [id],
  )
  return { progress, send }
}

type Listener = Parameters<typeof client.follow>[1]
