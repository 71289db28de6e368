import { visible } from '../base/format.logic.ts'
import { machineOf } from '../base/nodes.logic.ts'
import { useNodes } from '../base/nodes.ts'

/** Names the machine that a session runs on or waits for, if there are several machines. */
export default function RowMachine({ place }: { place: string }) {
  const machine = machineOf(useNodes().nodes, place)
  if (!machine) return null
  const text = `${machine.isAway ? 'waits for' : 'on'} ${visible(machine.name)}`
  return (
    <span title={text} className={`truncate ${machine.isAway ? 'font-medium text-wait' : ''}`}>
      {text}
    </span>
  )
}
