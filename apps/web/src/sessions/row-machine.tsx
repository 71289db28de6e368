import { visible } from '../base/format.logic.ts'
import { machineOf } from '../base/nodes.logic.ts'
import { useNodes } from '../base/nodes.ts'

/** Names the machine that a session runs on or waits for, if there are several machines. */
export default function RowMachine({ place }: { place: string }) {
  const name = useNodes(({ nodes }) => machineOf(nodes, place)?.name)
  const isAway = useNodes(({ nodes }) => machineOf(nodes, place)?.isAway)
  if (name === undefined) return null
  const text = `${isAway ? 'waits for' : 'on'} ${visible(name)}`
  return (
    <span title={text} className={`max-w-3/5 shrink-0 truncate ${isAway ? 'font-medium text-wait' : ''}`}>
      {text}
    </span>
  )
}
