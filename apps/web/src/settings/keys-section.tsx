import { KeyTable, keysPurpose } from './key-table.tsx'
import { Section } from './section.tsx'

export function KeysSection() {
  return (
    <Section title="Keyboard shortcuts" purpose={keysPurpose}>
      <KeyTable />
    </Section>
  )
}
