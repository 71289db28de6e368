import { type ComponentType, useEffect, useRef } from 'react'
import { useNodes } from '../base/nodes.ts'
import { type SettingsSection, sectionNames, settingsSections } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useMay } from '../base/self.ts'
import { BackToSessions, Link } from '../parts/link.tsx'
import { AgentsSection } from './agents-section.tsx'
import { AppearanceSection } from './appearance-section.tsx'
import { BrowserSection, DevicesSection } from './browser-section.tsx'
import { KeysSection } from './key-table.tsx'
import { NodesSection } from './nodes-section.tsx'
import { PushSection, TargetsSection } from './notifications-section.tsx'
import { PeopleTab, TokensTab } from './people-tabs.tsx'
import { RulesSection, TrustSection } from './rules-section.tsx'
import { VariablesSection } from './variables-section.tsx'

const sections: Record<SettingsSection, readonly ComponentType[]> = {
  agents: [AgentsSection, VariablesSection],
  permissions: [RulesSection, TrustSection],
  appearance: [AppearanceSection],
  keys: [KeysSection],
  browser: [BrowserSection, DevicesSection],
  notifications: [PushSection, TargetsSection],
  tokens: [TokensTab],
  people: [PeopleTab],
  nodes: [NodesSection],
}

export default function SettingsPage() {
  const route = useRoute()
  const section = route.name === 'settings' ? route.section : undefined
  const parts = section ? sections[section] : []
  // A server on SQLite has no other nodes, so their tab would be of no use.
  const hasNodes = useNodes(({ database }) => database !== undefined) || section === 'nodes'
  const hasPeople = useMay('admin') || section === 'people'
  const tabs = settingsSections.filter(
    (one) => (one !== 'nodes' || hasNodes) && (one !== 'people' || hasPeople),
  )
  const nav = useRef<HTMLElement>(null)
  // Scrolls the current tab into view: on a phone not all tabs fit.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the current tab changes with the section
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ inline: 'nearest', block: 'nearest' })
  }, [section, tabs.length])
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1}>
      <div className="mx-auto w-full max-w-3xl px-5 py-6 max-md:px-3 max-md:py-2">
        <div className="flex items-center pb-3">
          <BackToSessions />
          <h1 className="text-xl font-semibold tracking-tight">Settings</h1>
        </div>
        <nav
          ref={nav}
          aria-label="Settings"
          className="hide-scroll mb-5 flex gap-1 overflow-x-auto border-b border-line max-md:justify-between max-md:gap-0"
        >
          {tabs.map((one) => (
            <Link
              key={one}
              to={{ name: 'settings', section: one }}
              aria-current={one === section ? 'page' : undefined}
              className={`-mb-px flex min-h-9 shrink-0 items-center border-b-2 px-2.5 text-sm max-md:px-1 pointer-coarse:min-h-11 ${one === section ? 'border-mark font-medium text-ink' : 'border-transparent text-soft hover:text-ink'}`}
            >
              {sectionNames[one]}
            </Link>
          ))}
        </nav>
        {parts.map((Part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a section do not change
          <Part key={`${section} ${index}`} />
        ))}
      </div>
    </div>
  )
}
