import type { PermissionOption } from '@parley/protocol'
import { ChevronDown, Ellipsis, Link, Pencil } from 'lucide-react'
import { visible } from '../base/format.logic.ts'
import { Button, Key } from '../parts/button.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Menu } from '../parts/menu.tsx'
import { type Choices, grantCoverage } from './choices.logic.ts'

const menuList = lazyPart(() => import('../parts/menu-list.tsx'))

type Props = {
  plan: boolean
  choices: Choices
  /** The requested command; undefined if the request is not for a command. */
  command: string | undefined
  edited: boolean
  disabled: boolean
  onAllow: (option: PermissionOption | undefined) => void
  onDeny: () => void
  onDenyWithReason: () => void
  onCopyLink: () => void
  /** Set only if the agent accepts an edited input. */
  onEdit?: () => void
  onNearEdit?: () => void
}

/** Allow is on the left and deny on the right, far apart, to prevent wrong taps. */
export function PermissionButtons({ plan, choices, command, edited, disabled, onAllow, ...rest }: Props) {
  const { once, session, wider } = choices
  const cover = session ? grantCoverage(session, command) : ''
  return (
    <div className="flex flex-wrap items-center gap-2 px-3.5 pt-2.5 pb-3">
      <Button look="good" disabled={disabled} onClick={() => onAllow(once)}>
        {plan ? 'Approve the plan' : edited ? 'Allow as edited' : 'Allow once'}{' '}
        {edited ? <Key>Ctrl+Enter</Key> : <Key>1</Key>}
      </Button>
      {session && (
        <Button disabled={disabled} onClick={() => onAllow(session)}>
          Allow for this session <Key>2</Key>
        </Button>
      )}
      {wider.length > 0 && (
        <Menu
          label="More allow options"
          className="border border-edge"
          part={menuList}
          list={(MenuList, menu) => (
            <MenuList
              {...menu}
              entries={wider.map((option) => ({
                label: `${option.label}${grantCoverage(option) ? ` (${grantCoverage(option)})` : ''}`,
                onSelect: () => onAllow(option),
              }))}
            />
          )}
        >
          <ChevronDown size={15} />
        </Menu>
      )}
      {rest.onEdit && (
        <Button look="quiet" onClick={rest.onEdit} onPointerEnter={rest.onNearEdit} onFocus={rest.onNearEdit}>
          <Pencil size={13} aria-hidden /> {edited ? 'Cancel edit' : 'Edit'}
        </Button>
      )}
      <Menu
        label="More actions"
        part={menuList}
        list={(MenuList, menu) => (
          <MenuList
            {...menu}
            entries={[{ label: 'Copy decision link', icon: Link, onSelect: rest.onCopyLink }]}
          />
        )}
      >
        <Ellipsis size={15} />
      </Menu>
      {plan ? (
        <Button look="danger" className="ml-auto" onClick={rest.onDenyWithReason}>
          Request changes <Key>3</Key>
        </Button>
      ) : (
        <span className="ml-auto flex items-center gap-1 max-md:pt-1">
          <Button look="quiet" onClick={rest.onDenyWithReason}>
            Deny with reason
          </Button>
          <Button look="danger" onClick={rest.onDeny}>
            Deny {!edited && <Key>3</Key>}
          </Button>
        </span>
      )}
      {cover !== '' && (
        <p className="line-clamp-3 basis-full text-xs [overflow-wrap:anywhere] text-soft">
          “For this session” allows {visible(cover)}
        </p>
      )}
    </div>
  )
}
