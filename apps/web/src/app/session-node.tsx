import type { NodeInfo, SessionNode } from '@parley/protocol'
import { useEffect, useState } from 'react'
import { client } from '../base/client.ts'
import { visible } from '../base/format.logic.ts'
import { useNodes } from '../base/nodes.ts'
import { awaited } from '../session-data/awaited.ts'
import { useSessionId } from '../session-data/session-context.tsx'
import { awaitedTexts } from './awaited.logic.ts'

const shape = 'shrink-0 max-md:max-w-full max-md:truncate'

/** Shows the machine and the node of the open session, or the machine that the session waits for. */
export default function SessionNodeFact() {
  const { nodes } = useNodes()
  return nodes.length > 1 ? <Where nodes={nodes} /> : null
}

/**
 * Requests the node of the session each time the list of nodes has been loaded, because the owner of the session may
 * have changed.
 */
function Where({ nodes }: { nodes: readonly NodeInfo[] }) {
  const sessionId = useSessionId()
  const [where, setWhere] = useState<SessionNode>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: loaded again with the nodes
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    client.call('getSessionNode', { params: { id: sessionId }, signal }).then(setWhere, () => undefined)
    return () => controller.abort()
  }, [sessionId, nodes])
  const away = where?.awaited && where.machine
  useEffect(() => {
    awaited.set(away === undefined ? undefined : awaitedTexts(sessionId, away))
    return () => awaited.set(undefined)
  }, [sessionId, away])
  if (!where) return null
  const machine = visible(where.machine)
  if (where.awaited)
    return (
      <span
        className={`${shape} font-medium text-wait`}
        title={`The folder of this session is on ${machine}, where no Parley server runs now. You can read the session, answer its requests and queue prompts. It continues when a server runs on ${machine} again.`}
      >
        <Separator />
        waits for {machine}
      </span>
    )
  const beside = nodes.filter(({ place, state }) => place === where.place && state !== 'gone').length > 1
  return (
    <span className={shape} title={where.node && `Node ${where.node.url}`}>
      <Separator />
      on {machine}
      {beside && where.node && ` (${new URL(where.node.url).host})`}
    </span>
  )
}

function Separator() {
  return <span className="max-md:hidden">· </span>
}
