import { ChevronRight } from 'lucide-react'
import { type ComponentType, useEffect, useRef } from 'react'
import { useIsNarrow } from '../base/effects.ts'
import { lacksFocus } from '../base/focus.ts'
import { useNodes } from '../base/nodes.ts'
import { type SettingsSection, sectionNames, settingsSections } from '../base/route.logic.ts'
import { useRoute } from '../base/route.ts'
import { useHas, useMay } from '../base/self.ts'
import { BackLink, BackToSessions, Link } from '../parts/link.tsx'
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

/** The contents of each section, for the list of sections on a phone. */
const contents: Record<SettingsSection, string> = {
  agents: 'Install, sign in, API keys, variables',
  permissions: 'What agents may do without asking',
  appearance: 'Theme, and how much is expanded',
  keys: 'Shortcuts, and how to change them',
  browser: 'This browser, other devices, pair a phone',
  notifications: 'This browser, webhooks, ntfy',
  tokens: 'Access for programs',
  people: 'Roles and invitations',
  nodes: 'The servers on the database',
}

/** Tabs with the chosen section; on a narrow screen, a list of the sections, each of which is a page. */
export default function SettingsPage() {
  const route = useRoute()
  const isNarrow = useIsNarrow()
  const chosen = route.name === 'settings' ? route.section : undefined
  const section = chosen ?? (isNarrow ? undefined : 'agents')
  const parts = section ? sections[section] : []
  // A server on SQLite has no other nodes, so the tab would be empty.
  const hasNodes = useNodes(({ database }) => database !== undefined) || section === 'nodes'
  const hasPeople = useMay('admin') || section === 'people'
  const hasAlerts = useHas('alerts') || section === 'notifications'
  const isShown: Partial<Record<SettingsSection, boolean>> = {
    nodes: hasNodes,
    people: hasPeople,
    notifications: hasAlerts,
  }
  const shown = settingsSections.filter((one) => isShown[one] ?? true)
  const heading = useRef<HTMLHeadingElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focused link is removed with its section
  useEffect(() => {
    if (isNarrow && lacksFocus()) heading.current?.focus({ preventScroll: true })
  }, [chosen, isNarrow])
  return (
    <div className="h-full overflow-y-auto" tabIndex={-1} key={isNarrow ? chosen : undefined}>
      <div className="mx-auto w-full max-w-3xl px-5 py-6 max-md:px-3 max-md:py-2">
        <div className="flex items-center pb-3">
          {isNarrow && chosen ? (
            <BackLink to={{ name: 'settings' }} label="All settings" />
          ) : (
            <BackToSessions />
          )}
          <h1 ref={heading} tabIndex={-1} className="text-title font-semibold tracking-tight outline-none">
            Settings
          </h1>
        </div>
        {isNarrow ? !section && <SectionList shown={shown} /> : <Tabs shown={shown} section={section} />}
        {parts.map((Part, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a section do not change
          <Part key={`${section} ${index}`} />
        ))}
      </div>
    </div>
  )
}

type Shown = { readonly shown: readonly SettingsSection[] }

function Tabs({ shown, section }: Shown & { readonly section: SettingsSection | undefined }) {
  return (
    <nav aria-label="Settings" className="mb-5 flex flex-wrap gap-x-1 border-b border-line">
      {shown.map((one) => (
        <Link
          key={one}
          to={{ name: 'settings', section: one }}
          aria-current={one === section ? 'page' : undefined}
          className={`-mb-px flex min-h-9 items-center border-b-2 px-2.5 text-sm pointer-coarse:min-h-11 ${one === section ? 'border-mark font-medium text-ink' : 'border-transparent text-soft hover:text-ink'}`}
        >
          {sectionNames[one]}
        </Link>
      ))}
    </nav>
  )
}

function SectionList({ shown }: Shown) {
  return (
    <nav aria-label="Settings">
      <ul className="overflow-hidden rounded-xl border border-line bg-card">
        {shown.map((one) => (
          <li key={one} className="border-line not-first:border-t">
            <Link
              to={{ name: 'settings', section: one }}
              className="flex min-h-14 items-center gap-2 px-3.5 py-2 hover:bg-hover"
            >
              <span className="min-w-0 flex-1">
                <span className="block font-medium">{sectionNames[one]}</span>
                <span className="block text-xs text-soft">{contents[one]}</span>
              </span>
              <ChevronRight size={16} aria-hidden className="shrink-0 text-faint" />
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
