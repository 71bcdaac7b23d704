"""The page: what there is, what was ordered, and what has become of it."""

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from shop.models import AuditEvent, Order, Report
from shop.ordering import place_order
from shop.pricing import LIST_PRICES, price_of

SHOWN = 10


class OrderForm(forms.Form):
    product = forms.ChoiceField(choices=[(name, name) for name in LIST_PRICES])
    email = forms.EmailField()


def page(request: HttpRequest) -> HttpResponse:
    form = OrderForm(request.POST or None)
    if form.is_valid():
        product = form.cleaned_data["product"]
        place_order(product, form.cleaned_data["email"], price_of(product))
        return redirect("page")
    return render(
        request,
        "shop/page.html",
        {
            "form": form,
            "prices": {product: price_of(product) for product in LIST_PRICES},
            "orders": Order.objects.all()[:SHOWN],
            "events": AuditEvent.objects.all()[:SHOWN],
            "reports": Report.objects.all()[:SHOWN],
        },
        status=400 if form.errors else 200,
    )
