"""The mail that brings an invitation."""

from __future__ import annotations

import smtplib

import structlog
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import Invitation, User

log = structlog.get_logger(__name__)


def send(invitation: Invitation, address: str) -> bool:
    """Whether the mail server took it; the owner can copy the address in any case."""
    context = {"invitation": invitation, "address": address}
    invited = User.objects.filter(email__iexact=invitation.email).first()
    # Of who has no account nothing is known: the language of the one who invites is the best guess.
    with translation.override((invited and invited.language) or translation.get_language()):
        subject = _("Invitation to a team on Mitsumori")
        text = render_to_string("accounts/invitation_mail.txt", context)
    try:
        send_mail(subject=subject, message=text, from_email=None, recipient_list=[invitation.email])
    except (OSError, smtplib.SMTPException) as error:
        log.warning("invitation_not_mailed", team=invitation.team_id, error=type(error).__name__)
        return False
    return True
